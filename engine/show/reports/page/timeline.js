// One step as it ran: a row per device and per link, the critical path on it.

const DEVICE_H = 30;
const LINK_H = 17;
const AXIS_H = 22;
const MOST_LINKS = 24;

const line = { canvas: null, rows: [], from: 0, to: 1, end: 1, hits: [], names: 130 };

function startTimeline() {
  line.end = Math.max(...PLACEMENTS.map((p) => p.step), 1e-9);
  line.to = line.end;
  line.canvas = el('canvas', {
    tabindex: 0, role: 'img', id: 'step',
    'aria-label': 'The step on devices and links over time. Plus and minus zoom, arrows move, 0 shows all. The table below says what the critical path is made of.',
  });
  const button = (text, label, act) => el('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, text);
  body('timeline').append(
    el('div', { class: 'bar-tools' },
      button('+', 'Zoom in', () => zoomTime(1 / 1.6)), button('\u2212', 'Zoom out', () => zoomTime(1.6)),
      button('\u2190', 'Earlier', () => panTime(-0.3)), button('\u2192', 'Later', () => panTime(0.3)),
      button('All', 'Show the whole step', showAllTime),
      el('span', { class: 'faint' }, 'Drag to move, Ctrl and the wheel to zoom, click an op to see why it is there. The line joins what the step waited for.')),
    line.canvas, el('div', { id: 'path' }));
  makeRows();
  listenTimeline();
  new ResizeObserver(drawTimeline).observe(line.canvas);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawTimeline);
  drawTimeline();
  for (const p of PLACEMENTS) body('timeline').querySelector('#path').append(pathTable(p));
}

function makeRows() {
  line.rows = [];
  let y = AXIS_H;
  for (const p of shown.placements) {
    const placement = PLACEMENTS[p];
    if (PLACEMENTS.length > 1) { line.rows.push({ title: placement.label, y, h: 20, bars: [] }); y += 20; }
    const devices = DATA.devices.map((device, d) => ({ name: device.name, y: y + d * DEVICE_H, h: DEVICE_H, bars: [], device: d, p }));
    y += DEVICES * DEVICE_H + 6;
    for (let op = 0; op < OPS; ++op) {
      devices[placement.runs[op]].bars.push({ start: placement.start[op], lasts: placement.lasts[op], op, critical: placement.critical[op] === 1 });
    }
    const busiest = [...placement.links].sort((a, b) => b.busy - a.busy).slice(0, MOST_LINKS);
    busiest.sort((a, b) => a.src - b.src || a.dst - b.dst);
    const links = new Map();
    for (const link of busiest) {
      links.set(link.src + ',' + link.dst, { name: deviceName(link.src) + ' \u2192 ' + deviceName(link.dst), y, h: LINK_H, bars: [], device: link.src, p, link: true });
      y += LINK_H;
    }
    const t = placement.transfers;
    const critical = new Set();
    for (let i = 0; i < placement.path.length; i += 2) if (placement.path[i] < 0) critical.add(-1 - placement.path[i]);
    for (let i = 0; i < t.op.length; ++i) {
      const row = links.get(t.src[i] + ',' + t.dst[i]);
      if (row && t.bytes[i] >= 0) row.bars.push({ start: t.start[i], lasts: t.lasts[i], transfer: i, op: t.op[i], critical: critical.has(i) });
    }
    line.rows.push(...devices, ...links.values());
    y += 10;
    // The stations of the critical path, in time.
    placement.way = [];
    for (let i = 0; i < placement.path.length; i += 2) {
      const what = placement.path[i];
      const row = what >= 0 ? devices[placement.runs[what]] : links.get(t.src[-1 - what] + ',' + t.dst[-1 - what]);
      if (!row) continue;
      const start = what >= 0 ? placement.start[what] : t.start[-1 - what];
      const lasts = what >= 0 ? placement.lasts[what] : t.lasts[-1 - what];
      placement.way.push([start, start + lasts, row.y + row.h / 2]);
    }
  }
  for (const row of line.rows) row.bars.sort((a, b) => a.start - b.start);
  line.height = y;
}

const timeX = (us_) => line.names + (us_ - line.from) / (line.to - line.from) * (line.width - line.names - 8);
const timeAt = (x) => line.from + (x - line.names) / (line.width - line.names - 8) * (line.to - line.from);

function drawTimeline() {
  const canvas = line.canvas;
  const style = getComputedStyle(document.documentElement);
  const ink = (name) => style.getPropertyValue(name).trim();
  const ratio = window.devicePixelRatio || 1;
  line.width = canvas.clientWidth || 800;
  line.names = line.width < 600 ? 74 : 130;
  canvas.style.height = line.height + 'px';
  canvas.width = Math.round(line.width * ratio);
  canvas.height = Math.round(line.height * ratio);
  const c = canvas.getContext('2d');
  c.scale(ratio, ratio);
  c.fillStyle = ink('--paper');
  c.fillRect(0, 0, line.width, line.height);
  c.font = '12px system-ui, sans-serif';
  c.textBaseline = 'middle';
  drawAxis(c, ink);
  for (const row of line.rows) drawRow(c, ink, row);
  for (const p of shown.placements) drawWay(c, ink, PLACEMENTS[p].way);
}

function drawAxis(c, ink) {
  const span = line.to - line.from;
  let tick = Math.pow(10, Math.floor(Math.log10(span)) - 1);
  for (const f of [2, 2.5, 2, 2]) if (span / tick > Math.max(3, (line.width - line.names) / 110)) tick *= f;
  c.strokeStyle = ink('--line');
  c.fillStyle = ink('--faint');
  c.lineWidth = 1;
  c.textAlign = 'center';
  for (let t = Math.ceil(line.from / tick) * tick; t <= line.to; t += tick) {
    const x = timeX(t);
    c.beginPath();
    c.moveTo(x, AXIS_H - 4);
    c.lineTo(x, line.height);
    c.stroke();
    c.fillText(t === 0 ? '0' : us(t), Math.min(x, line.width - 28), 9);
  }
}

function drawRow(c, ink, row) {
  c.textAlign = 'left';
  if (row.title !== undefined) {
    c.fillStyle = ink('--ink');
    c.fillText(row.title, 4, row.y + row.h / 2);
    return;
  }
  c.fillStyle = row.link ? ink('--faint') : ink('--ink');
  c.fillText(shortened(row.link ? row.name : row.device + ' ' + row.name, Math.floor(line.names / 6.6)), 4, row.y + row.h / 2);
  c.fillStyle = ink('--scope');
  c.fillRect(line.names, row.y + 1, line.width - line.names - 8, row.h - 2);
  const right = line.width - 8;
  let drawn = -1;
  for (const bar_ of row.bars) {
    const x0 = Math.max(line.names, timeX(bar_.start)), x1 = Math.min(right, timeX(bar_.start + bar_.lasts));
    if (x1 < line.names || x0 > right || (x1 - drawn < 0.3 && !bar_.critical)) continue;
    drawn = Math.max(drawn, x1);
    const width = Math.max(x1 - x0, 0.7);
    c.fillStyle = colour(row.device);
    c.fillRect(x0, row.y + 3, width, row.h - 6);
    if (bar_.critical) { c.fillStyle = ink('--critical'); c.fillRect(x0, row.y + row.h - 7, width, 4); }
    if (width > 3) { c.strokeStyle = ink('--paper'); c.strokeRect(x0 + 0.5, row.y + 3.5, width - 1, row.h - 7); }
    if (width > 46 && row.h > 20) {
      c.fillStyle = inkOn(row.device);
      c.fillText(shortened(GRAPH.op.name[bar_.op], Math.floor(width / 7)), x0 + 4, row.y + row.h / 2 - 1);
    }
    if (bar_.transfer === undefined && shown.chosen === nodeOfOp(bar_.op)) {
      c.strokeStyle = ink('--ink');
      c.lineWidth = 3;
      c.strokeRect(x0 - 1, row.y + 2, Math.max(width, 3) + 2, row.h - 4);
      c.lineWidth = 1;
    }
  }
}

function drawWay(c, ink, way) {
  c.save();
  c.beginPath();
  c.rect(line.names, 0, line.width - line.names - 8, line.height);
  c.clip();
  c.strokeStyle = ink('--critical');
  c.lineWidth = 1.5;
  c.globalAlpha = 0.75;
  c.beginPath();
  way.forEach(([start, end, y], i) => {
    if (i === 0) c.moveTo(timeX(start), y); else c.lineTo(timeX(start), y);
    c.lineTo(timeX(end), y);
  });
  c.stroke();
  c.restore();
}

function zoomTime(by, around) {
  const middle = around === undefined ? (line.from + line.to) / 2 : around;
  const span = Math.max(line.end * 1e-6, Math.min(line.end, (line.to - line.from) * by));
  const part = (middle - line.from) / (line.to - line.from);
  setTime(middle - part * span, span);
}
function panTime(share) {
  const span = line.to - line.from;
  setTime(line.from + share * span, span);
}
function setTime(from, span) {
  line.from = Math.max(0, Math.min(line.end - span, from));
  line.to = line.from + span;
  drawTimeline();
}
function showAllTime() { setTime(0, line.end); }

function barAt(x, y) {
  const row = line.rows.find((r) => y >= r.y && y < r.y + r.h && r.bars.length > 0);
  if (!row || x < line.names) return null;
  let best = null, distance = 4;
  for (const bar_ of row.bars) {
    const x0 = timeX(bar_.start), x1 = timeX(bar_.start + bar_.lasts);
    const off = x < x0 ? x0 - x : x > x1 ? x - x1 : 0;
    if (off < distance || (off === 0 && distance === 0)) { best = bar_; distance = off; }
  }
  return best && { row, bar: best };
}

function barText({ row, bar: bar_ }) {
  const span = us(bar_.lasts) + ' from ' + us(bar_.start) + (bar_.critical ? ', on the critical path' : '');
  if (bar_.transfer === undefined) return fullName(bar_.op) + ' (' + typeOf(bar_.op) + ')\n' + row.name + ', ' + span;
  const t = PLACEMENTS[row.p].transfers;
  const waited = t.start[bar_.transfer] - t.queued[bar_.transfer];
  return bytes(t.bytes[bar_.transfer]) + ' of ' + fullName(bar_.op) + '\n' + row.name + ', ' + span + (waited > 0 ? ', after ' + us(waited) + ' of waiting' : '');
}

function listenTimeline() {
  const canvas = line.canvas;
  const tip = document.getElementById('tip');
  const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  let drag = null;
  canvas.addEventListener('pointerdown', (event) => { drag = { x: event.clientX, from: line.from, moved: false }; });
  addEventListener('pointerup', () => { drag = null; });
  canvas.addEventListener('pointermove', (event) => {
    if (drag && event.buttons) {
      const by = (drag.x - event.clientX) / (line.width - line.names) * (line.to - line.from);
      if (Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
      setTime(drag.from + by, line.to - line.from);
      tip.hidden = true;
      return;
    }
    const hit = barAt(...at(event));
    tip.hidden = !hit;
    if (!hit) return;
    tip.textContent = barText(hit);
    tip.style.left = Math.min(event.clientX + 14, innerWidth - Math.min(480, innerWidth * 0.8)) + 'px';
    tip.style.top = Math.min(event.clientY + 16, innerHeight - 70) + 'px';
  });
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
  canvas.addEventListener('click', (event) => { const hit = barAt(...at(event)); if (hit && !(drag && drag.moved)) choose(nodeOfOp(hit.bar.op)); });
  canvas.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
    event.preventDefault();
    if (event.shiftKey) panTime((event.deltaY || event.deltaX) / 1000);
    else zoomTime(event.deltaY < 0 ? 1 / 1.25 : 1.25, timeAt(at(event)[0]));
  }, { passive: false });
  canvas.addEventListener('keydown', (event) => {
    const act = { '+': () => zoomTime(1 / 1.6), '=': () => zoomTime(1 / 1.6), '-': () => zoomTime(1.6), ArrowLeft: () => panTime(-0.2), ArrowRight: () => panTime(0.2), 0: showAllTime }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
}

// The longest stretches of the critical path, in time order.
function pathTable(placement) {
  const rows = placement.stretches.map((s) => [us(s.start), us(s.lasts), stretchText(placement, s)]);
  const all = placement.stretch_count;
  return el('details', { open: PLACEMENTS.length === 1 },
    el('summary', {}, 'The critical path' + (PLACEMENTS.length > 1 ? ' of ' + placement.label : '') + ': ' + count(all) + (all === 1 ? ' stretch' : ' stretches in a row') + (all > rows.length ? ', the longest ' + rows.length : '')),
    table('What the step waited for', [['from', true], ['for', true], ['what', false]], rows));
}

function stretchText(placement, s) {
  if (s.transfer !== undefined) {
    const t = placement.transfers, i = s.transfer;
    return [chip(t.src[i]), deviceName(t.src[i]) + ' \u2192 ' + deviceName(t.dst[i]) + ': ', opLink(s.first), t.bytes[i] < 0 ? ', a control signal' : ', ' + bytes(t.bytes[i]), s.waited > 0 ? ', after ' + us(s.waited) + ' of waiting for the link' : ''];
  }
  if (s.ops === 1) return [chip(s.device), deviceName(s.device) + ' runs ', opLink(s.first)];
  return [chip(s.device), deviceName(s.device) + ' runs ' + count(s.ops) + ' ops, from ', opLink(s.first), ' to ', opLink(s.last)];
}
