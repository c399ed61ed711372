// Summary, policies, what moved, transfers, constraints.

function startSummary() {
  document.getElementById('title').textContent = DATA.model.split('/').pop() + ' on ' + DATA.machine;
  document.title = document.getElementById('title').textContent + ', placed by Berth';
  document.getElementById('subtitle').textContent =
    plural(OPS, 'op') + ', ' + bytes(DATA.parameters) + ' of parameters, ' + plural(DEVICES, 'device') + '; costs: ' + DATA.costs + '; ' + DATA.semantics + ' semantics; Berth ' + DATA.version;
  fill(body('summary'), {}, [
    el('div', { class: PLACEMENTS.length > 1 ? 'columns' : null }, PLACEMENTS.map(placementSummary)),
    policiesTable()]);
}

function placementSummary(placement) {
  const f = placement.figures;
  const load = DATA.objective === 'throughput';
  const card = (title, figure, text, kind) => el('div', { class: 'card' }, el('span', {}, title), el('b', { class: kind || null }, figure), el('span', {}, text));
  const made = f.policy ? 'placed by ' + f.policy + ', seed ' + f.seed + (f.tried !== undefined ? ', ' + plural(f.tried, 'placement') + ' tried in ' + us(f.wall_s * 1e6) : '') : 'given, not searched for';
  return el('div', {},
    PLACEMENTS.length > 1 ? el('h3', {}, placement.label) : null,
    f.feasible ? null : el('p', { class: 'bad' }, 'Does not fit: ' + f.excess + '.'),
    el('div', { class: 'cards' },
      card(load ? 'Largest load' : 'Runtime', us(f.objective), load ? 'per step of a full pipeline; one step alone ' + us(f.runtime) : 'of one step, ' + (f.executed ? 'measured' : 'simulated')),
      card('Cuts', count(f.cuts), plural(f.transfers, 'transfer') + ' of tensors between devices'),
      card('Lower bound', f.bound === undefined ? '-' : us(f.bound), f.gap_text),
      f.single ? card('Against one device', factor(f.single.speed_up), us(f.single.objective) + ' on ' + f.single.text) : card('Against one device', '-', f.executed ? 'one device was not measured' : 'no device holds what it can run'),
      el('div', { class: 'card' }, el('span', {}, 'Where it came from'), el('p', {}, made[0].toUpperCase() + made.slice(1) + (f.ended && f.ended !== 'done' ? '; ended: ' + f.ended : '') + '.'))),
    el('h3', {}, 'What binds the step'),
    el('p', {}, f.waits ? f.waits[0].toUpperCase() + f.waits.slice(1) + '. ' : '', f.advice,
      f.full.map((d) => ' ' + deviceName(d) + (placement.devices[d].peak > DATA.devices[d].memory ? ' does not hold what is on it.' : ' is full: with more memory there, other placements would fit.'))),
    (f.notes || []).map((note) => el('p', { class: 'faint' }, 'Note: ' + note + '.')),
    devicesTable(placement));
}

function devicesTable(placement) {
  const whole = DATA.objective === 'throughput' ? placement.figures.objective : placement.step;
  const ops = new Array(DEVICES).fill(0);
  placement.device.forEach((d) => ++ops[d]);
  return table('Devices', [['device', false], ['ops', true], ['', false], [DATA.objective === 'throughput' ? 'load' : 'busy', true], ['', true], ['peak memory', true]],
    placement.devices.map((usage, d) => [
      el('span', { class: 'device' }, chip(d), d + ' ' + DATA.devices[d].name + ' (' + DATA.kinds[DATA.devices[d].kind] + ')'), count(ops[d]), bar(usage.busy / whole, d), percent(usage.busy / whole), us(usage.busy),
      el('span', { class: 'wraps' }, bytes(usage.peak) + (DATA.devices[d].memory ? ' of ' + bytes(DATA.devices[d].memory) : ''))]));
}

function policiesTable() {
  if (DATA.policies.length === 0) return null;
  return [el('h3', {}, 'Policies'), table('Policies, best first; how far above the lower bound, and against the best single device', [['policy', false], [DATA.objective === 'throughput' ? 'largest load' : 'runtime', true], ['above bound', true], ['vs one device', true], ['devices', true], ['cuts', true], ['transfers', true], ['search', true], ['', false]],
    DATA.policies.map((p) => p.objective === undefined
      ? [p.name, '-', '-', '-', '-', '-', '-', '-', el('span', { class: 'bad' }, p.failure)]
      : [p.name, us(p.objective), percent(p.gap), factor(p.speed_up), count(p.devices), count(p.cuts), count(p.transfers), p.wall_s === undefined ? '-' : us(p.wall_s * 1e6), p.failure ? el('span', { class: 'bad' }, p.failure) : p.whose ? 'saw ' + us(p.best) + ': ' + p.whose : '']))];
}

function startMoved() {
  if (!movedOps) return;
  document.getElementById('moved').hidden = false;
  document.querySelector('nav a').after(el('a', { href: '#moved' }, 'What moved'));
  const [a, b] = PLACEMENTS;
  const flows = new Map();
  const scopes = new Map();
  let total = 0;
  for (let op = 0; op < OPS; ++op) {
    if (!movedOps[op]) continue;
    ++total;
    const key = a.device[op] + ',' + b.device[op];
    flows.set(key, (flows.get(key) || 0) + 1);
    let scope = GRAPH.op.scope[op];
    while (DEPTH[scope] > 2) scope = parentOf(scope);
    const entry = scopes.get(scope) || { n: 0, op };
    ++entry.n;
    scopes.set(scope, entry);
  }
  const fa = a.figures, fb = b.figures;
  const row = (what, x, y, text) => [what, text(x), text(y), x === y ? 'same' : text === us ? signedUs(y - x) : (y > x ? '+' : '\u2212') + text(Math.abs(y - x))];
  const sum = (p, key) => p.links.reduce((s, l) => s + l[key], 0);
  fill(body('moved'), {}, [
    table('Figures side by side', [['', false], [a.label, true], [b.label, true], ['change', true]], [
      row('objective', fa.objective, fb.objective, us), row('runtime of a step', fa.runtime, fb.runtime, us),
      row('transfers', sum(a, 'transfers'), sum(b, 'transfers'), count), row('bytes sent', sum(a, 'bytes'), sum(b, 'bytes'), bytes),
      ...DATA.devices.map((device, d) => row('peak of ' + device.name, a.devices[d].peak, b.devices[d].peak, bytes))]),
    el('p', {}, total === 0 ? 'Every op is on the same device in both.' : plural(total, 'op') + ' of ' + count(OPS) + ' (' + percent(total / OPS) + ') are on another device in ' + b.label + '. In the graph a ring marks them, and the upper strip is ' + a.label + '.'),
    total === 0 ? null : el('div', { class: 'columns' },
      table('From which device to which', [['from', false], ['to', false], ['ops', true]], [...flows].sort((x, y) => y[1] - x[1]).slice(0, 30).map(([key, n]) => {
        const [from, to] = key.split(',').map(Number);
        return [[chip(from), deviceName(from)], [chip(to), deviceName(to)], count(n)];
      })),
      table('Where in the graph', [['scope', false], ['moved', true], ['of', true]], [...scopes].sort((x, y) => y[1].n - x[1].n).slice(0, 30).map(([scope, entry]) => [nodeLink(scope), count(entry.n), count(SIZE[scope])])))]);
}

function startTransfers() {
  for (const placement of PLACEMENTS) {
    const links = [...placement.links].sort((x, y) => y.busy - x.busy);
    if (PLACEMENTS.length > 1) body('transfers').append(el('h3', {}, placement.label));
    if (links.length === 0) { body('transfers').append(el('p', {}, placement.figures.no_transfers)); continue; }
    const sum = (key) => links.reduce((s, l) => s + l[key], 0);
    body('transfers').append(
      el('p', {}, plural(sum('transfers'), 'transfer') + ', ' + bytes(sum('bytes')) + '.' + (placement.transfers.total > placement.transfers.op.length ? ' The pictures show the longest ' + count(placement.transfers.op.length) + '.' : '')),
      el('div', { class: 'columns' },
        table('Links, busiest first', [['link', false], ['transfers', true], ['bytes', true], ['', false], ['busy', true], ['', true]],
          links.slice(0, 40).map((l) => [[chip(l.src), deviceName(l.src) + ' \u2192 ' + deviceName(l.dst)], count(l.transfers), bytes(l.bytes), bar(l.busy / placement.step, l.src), percent(l.busy / placement.step), us(l.busy)])),
        placement.waits.length === 0 ? el('p', {}, 'No transfer is on the critical path.')
          : table('Transfers that the step waits for, the longest first', [['for', true], ['what', false]], placement.waits.map((s) => [us(s.lasts), stretchText(placement, s)]))));
  }
}

function startRules() {
  const rules = PLACEMENTS[0].constraints;
  if (rules.length === 0) { body('rules').append(el('p', { class: 'faint' }, 'None were given.')); return; }
  const verdict = (p, i) => p.constraints[i].holds ? el('span', { class: 'good' }, 'held') : el('span', { class: 'bad' }, 'broken');
  body('rules').append(table('Constraints, and whether they held', [['constraint', false], ['ops', true], ...PLACEMENTS.map((p) => [PLACEMENTS.length > 1 ? p.label : '', false]), ['such as', false]],
    rules.map((rule, i) => [el('code', {}, rule.text), count(rule.count), ...PLACEMENTS.map((p) => verdict(p, i)), rule.ops.slice(0, 3).map((op) => [opLink(op), ' '])])));
}
