// The chosen op: where it is, why, and what elsewhere would cost. The chosen scope: what is in it.

function opLink(op) { return nodeLink(nodeOfOp(op)); }
function nodeLink(node) {
  return el('button', { type: 'button', class: 'link', onclick: () => choose(node) }, pathOf(node));
}

function choose(node, show = true) {
  shown.chosen = node;
  if (show) showInGraph(node); else markChosen();
  drawTimeline();
  const aside = document.getElementById('details');
  aside.hidden = false;
  document.body.classList.add('open');
  aside.replaceChildren(
    el('button', { type: 'button', class: 'close', 'aria-label': 'Close', onclick: closeDetails }, '\u00d7'),
    ...(isOp(node) ? opDetails(opOf(node)) : scopeDetails(node)).flat(Infinity).filter((child) => child));
  aside.scrollTop = 0;
}

function markChosen() {
  for (const other of graphView.svg.querySelectorAll('.chosen')) other.classList.remove('chosen');
  const place = graphView.place.get(shown.chosen);
  if (place) place.group.classList.add('chosen');
}

function closeDetails() {
  document.getElementById('details').hidden = true;
  document.body.classList.remove('open');
  shown.chosen = -1;
  markChosen();
  drawTimeline();
}

function scopeDetails(scope) {
  let params = 0;
  for (let op = 0; op < OPS; ++op) {
    for (let s = GRAPH.op.scope[op]; s >= scope; s = GRAPH.scopes.parent[s]) if (s === scope) params += GRAPH.op.param[op];
  }
  return [el('h2', {}, pathOf(scope)),
    el('p', {}, plural(SIZE[scope], 'op') + (params ? ', ' + bytes(params) + ' of parameters' : '') + '.'),
    PLACEMENTS.map((placement) => {
      const share = placement.share[scope];
      const sum = share.reduce((a, b) => a + b, 0);
      return table('Compute time' + (PLACEMENTS.length > 1 ? ', ' + placement.label : ''), [['device', false], ['', true], ['', true]],
        [...share].map((part, d) => [d, part]).filter(([, part]) => part > 0).map(([d, part]) => [[chip(d), deviceName(d)], us(part), percent(part / sum)]));
    })];
}

function opDetails(op) {
  const inputs = GRAPH.op.inputs[op];
  const produced = CONSUMERS[op];
  return [el('h2', {}, fullName(op)),
    el('p', { class: 'faint' }, typeOf(op) + (GRAPH.op.param[op] ? ', ' + bytes(GRAPH.op.param[op]) + ' of parameters' : '')),
    PLACEMENTS.map((placement) => whereAndWhy(placement, op)),
    neighbours('Reads from', inputs), neighbours('Is read by', produced),
    el('p', { class: 'faint' }, 'More: ', el('code', {}, 'berth explain ... --op ' + shellQuoted(fullName(op))))];
}

const shellQuoted = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

function whereAndWhy(placement, op) {
  const d = placement.device[op];
  const unit = placement.unit.get(op);
  return [el('h3', {}, chip(d), 'On ' + deviceName(d) + (PLACEMENTS.length > 1 ? ' in ' + placement.label : '')),
    el('p', {}, 'From ' + us(placement.start[op]) + ' for ' + us(placement.lasts[op]) + ', ' + (placement.critical[op] ? 'on' : 'off') + ' the critical path.'),
    unit ? el('p', {}, 'Held there by ' + unit.by + '.' + (unit.ops.length > 1 ? ' It shares its device with ' + plural(unit.ops.length - 1, 'co-located op') + ', which move with it.' : '')) : null,
    unit ? elsewhereTable(placement, unit, d) : [costTable(op, d), el('p', { class: 'faint' }, 'The step with it elsewhere was not computed for this op.')]];
}

function elsewhereTable(placement, unit, own) {
  const now = placement.elsewhere.now;
  return table((DATA.objective === 'throughput' ? 'Largest load' : 'Step') + ' with it elsewhere; ' + us(now) + ' now', [['device', false], ['', true], ['change', true]],
    unit.devices.map((entry, d) => [d, entry]).filter(([d]) => d !== own).map(([d, entry]) => {
      const name = [chip(d), deviceName(d)];
      if (typeof entry === 'string') return [name, el('span', { class: 'faint' }, 'not possible: ' + entry), ''];
      const [value, lacks] = Array.isArray(entry) ? entry : [entry, 0];
      return [name, [us(value), lacks ? el('span', { class: 'bad' }, ', lacks ' + bytes(lacks)) : null], signedUs(value - now)];
    }));
}

function costTable(op, own) {
  return table('Time of this op on each device', [['device', false], ['', true]], DATA.devices.map((device, d) => [[chip(d), device.name + (d === own ? ' (here)' : '')], GRAPH.op.cost[device.kind][op] === null ? 'cannot run' : us(GRAPH.op.cost[device.kind][op])]));
}

function neighbours(title, list) {
  if (list.length === 0) return null;
  const MOST = 12;
  const device = PLACEMENTS[shown.placements[0]].device;
  const items = [];
  for (let i = 0; i < list.length && items.length < MOST; i += 2) {
    items.push(el('li', {}, chip(device[list[i]]), opLink(list[i]), list[i + 1] < 0 ? ', control' : ', ' + bytes(list[i + 1])));
  }
  return [el('h3', {}, title), el('ul', {}, items, list.length / 2 > MOST ? el('li', { class: 'faint' }, 'and ' + count(list.length / 2 - MOST) + ' more') : null)];
}
