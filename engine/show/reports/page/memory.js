// Memory of each device over the step, its limit, and what is in it at the peak.

const MEMORY_W = 720;
const MEMORY_H = 120;

function startMemory() {
  for (const placement of PLACEMENTS) {
    if (PLACEMENTS.length > 1) body('memory').append(el('h3', {}, placement.label));
    const used = placement.devices.map((_, d) => d).filter((d) => placement.devices[d].peak > 0);
    const top = Math.max(1, ...used.map((d) => placement.devices[d].peak));
    body('memory').append(used.length
      ? el('div', { class: 'grid' }, used.map((d) => memoryOf(placement, d, top)))
      : el('p', { class: 'faint' }, 'No device holds anything.'));
  }
}

function memoryOf(placement, d, top) {
  const usage = placement.devices[d];
  const limit = DATA.devices[d].memory;
  const share = limit ? ' of ' + bytes(limit) + ' (' + percent(usage.peak / limit) + ')' : '';
  const full = limit && usage.peak > limit;
  return el('div', { class: 'memory' },
    el('h3', {}, chip(d), DATA.devices[d].name + ': peak ' + bytes(usage.peak) + share, full ? el('span', { class: 'bad' }, ' too much') : null),
    memoryPicture(placement, d, top), heldText(usage));
}

function memoryPicture(placement, d, top) {
  const usage = placement.devices[d];
  const limit = DATA.devices[d].memory;
  const high = limit && limit < 1.6 * top ? Math.max(top, limit) * 1.05 : top * 1.08;
  const x = (t) => (t / (placement.step || 1) * MEMORY_W).toFixed(1);
  const y = (b) => (MEMORY_H - b / high * (MEMORY_H - 8)).toFixed(1);
  let path = 'M0 ' + MEMORY_H;
  const samples = placement.memory[d];
  for (let i = 0; i < samples.length; i += 2) path += 'H' + x(samples[i]) + 'V' + y(samples[i + 1]);
  path += 'H' + MEMORY_W + 'V' + MEMORY_H + 'Z';
  const atRight = usage.peak_at > placement.step / 2;
  return svg('svg', { class: 'plot', viewBox: '0 0 ' + MEMORY_W + ' ' + (MEMORY_H + 18), role: 'img', 'aria-label': 'Memory of ' + DATA.devices[d].name + ' over the step; the peak, ' + bytes(usage.peak) + ', is at ' + us(usage.peak_at) },
    svg('path', { class: 'area', d: path, fill: colour(d), stroke: colour(d) }),
    high > top * 1.1 || (limit && limit <= high) ? svg('line', { class: 'limit', x1: 0, x2: MEMORY_W, y1: y(limit), y2: y(limit) }) : null,
    svg('line', { class: 'axis', x1: 0, x2: MEMORY_W, y1: MEMORY_H, y2: MEMORY_H }),
    svg('circle', { class: 'mark', cx: x(usage.peak_at), cy: y(usage.peak), r: 4 }),
    svg('text', { x: Number(x(usage.peak_at)) + (atRight ? -8 : 8), y: Math.max(12, Number(y(usage.peak)) + 4), 'text-anchor': atRight ? 'end' : 'start' }, bytes(usage.peak) + ' at ' + us(usage.peak_at)),
    svg('text', { class: 'small', x: 0, y: MEMORY_H + 13 }, '0'),
    svg('text', { class: 'small', x: MEMORY_W, y: MEMORY_H + 13, 'text-anchor': 'end' }, us(placement.step)));
}

function heldText(usage) {
  const what = ['', ', a copy from another device', ', workspace'];
  if (usage.held.length === 0 && usage.params === 0) return null;
  return el('details', {},
    el('summary', {}, 'At the peak: ' + bytes(usage.params) + ' of parameters, ' + plural(usage.held_count, 'tensor')),
    el('ul', {}, usage.held.map(([op, size, kind]) => el('li', {}, bytes(size) + ' ', opLink(op), what[kind])),
      usage.held_count > usage.held.length ? el('li', { class: 'faint' }, 'and ' + count(usage.held_count - usage.held.length) + ' smaller ones') : null));
}
