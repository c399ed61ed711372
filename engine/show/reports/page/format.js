// Figures for people, and elements. Names become text nodes and attribute values, never markup.

const SVG = 'http://www.w3.org/2000/svg';

function us(value) {
  if (value === null || !isFinite(value)) return '-';
  const size = Math.abs(value);
  if (size < 1e3) return value.toFixed(1) + ' us';
  if (size < 1e6) return significant(value / 1e3) + ' ms';
  return significant(value / 1e6) + ' s';
}

function significant(value) {
  const digits = Math.max(1, Math.floor(Math.log10(Math.abs(value) || 1)) + 1);
  return value.toFixed(Math.max(0, 4 - digits));
}

function signedUs(value) {
  return (value < 0 ? '\u2212' : '+') + us(Math.abs(value));
}

function bytes(value) {
  if (value < 1024) return value + ' B';
  let unit = -1;
  do {
    value /= 1024;
    ++unit;
  } while (value >= 1024 && unit < 4);
  return value.toFixed(2) + ' ' + ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'][unit];
}

const count = (value) => value.toLocaleString('en-US');
const percent = (value) => (value === null || !isFinite(value) ? '-' : (100 * value).toFixed(1) + ' %');
const factor = (value) => (value === null || !isFinite(value) ? '-' : value.toFixed(2) + 'x');
const plural = (n, what) => count(n) + ' ' + what + (n === 1 ? '' : 's');

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child);  // texts become text nodes
  }
  return node;
}

const el = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);
const body = (section) => document.querySelector('#' + section + ' > .body');

function shortened(text, length) {
  if (text.length <= length) return text;
  const tail = Math.floor((length - 1) / 2);
  return text.slice(0, length - 1 - tail) + '\u2026' + text.slice(text.length - tail);
}

// Okabe and Ito's colours, which the colour-blind can tell apart. Beyond eight devices they come
// again: numbers and names stand beside them everywhere.
const COLOURS = ['#e69f00', '#56b4e9', '#009e73', '#f0e442', '#0072b2', '#d55e00', '#cc79a7', '#999999'];
const colour = (device) => COLOURS[device % COLOURS.length];
const inkOn = (device) => (device % COLOURS.length === 4 ? '#ffffff' : '#000000');

// Tells a reader of columns that are beyond the edge of a narrow screen.
function toldOfMore(holder) {
  const tell = () => holder.classList.toggle('more', holder.scrollLeft + holder.clientWidth < holder.scrollWidth - 1);
  holder.addEventListener('scroll', tell, { passive: true });
  new ResizeObserver(tell).observe(holder);
  return holder;
}

// A table; columns [title, isNumber], cells: texts, nodes, or arrays of them.
function table(caption, columns, rows) {
  return toldOfMore(el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': caption },
    el('table', {},
      el('caption', {}, caption),
      el('thead', {}, el('tr', {}, columns.map(([title, n]) =>
        el('th', { scope: 'col', class: n ? 'n' : null }, title)))),
      el('tbody', {}, rows.map((cells) => el('tr', {}, cells.map((cell, i) =>
        el('td', { class: columns[i][1] ? 'n' : null }, cell))))))));
}

function bar(share, device) {
  const width = Math.max(0, Math.min(1, share || 0)) * 100;
  return svg('svg', { class: 'bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { width, height: 10, fill: colour(device) }));
}

function chip(device) {
  return svg('svg', { class: 'chip', viewBox: '0 0 10 10', 'aria-hidden': 'true' },
    svg('rect', { width: 10, height: 10, fill: colour(device) }));
}
