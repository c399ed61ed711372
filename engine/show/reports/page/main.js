// Search, the choice of placements, and the start.

function startSearch() {
  const input = document.getElementById('find');
  const found = document.getElementById('found');
  const names = Array.from({ length: OPS }, (_, op) => (fullName(op) + ' ' + typeOf(op)).toLowerCase());
  const MOST = 40;
  const close = () => { found.hidden = true; };
  const search = () => {
    const text = input.value.trim().toLowerCase();
    if (text === '') { close(); return; }
    const hits = [];
    let total = 0;
    names.forEach((name, op) => { if (name.includes(text) && ++total <= MOST) hits.push(op); });
    found.replaceChildren(
      el('li', { class: 'note', role: 'status' }, total === 0 ? 'No op has this in its name or type.' : plural(total, 'op') + (total > MOST ? ', the first ' + MOST : '')),
      ...hits.map((op) => el('li', {}, el('button', { type: 'button', onclick: () => { close(); choose(nodeOfOp(op)); } },
        chip(PLACEMENTS[0].device[op]), fullName(op), el('span', { class: 'faint' }, ' ' + typeOf(op))))));
    found.hidden = false;
  };
  input.addEventListener('input', search);
  input.addEventListener('focus', search);
  document.querySelector('.search').addEventListener('keydown', (event) => {
    const buttons = [...found.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement);
    if (event.key === 'Escape') { close(); input.focus(); close(); }
    else if (event.key === 'ArrowDown' && buttons.length) { event.preventDefault(); buttons[Math.min(at + 1, buttons.length - 1)].focus(); }
    else if (event.key === 'ArrowUp' && at >= 0) { event.preventDefault(); (at === 0 ? input : buttons[at - 1]).focus(); }
    else if (event.key === 'Enter' && at < 0 && buttons.length) { buttons[0].click(); }
  });
  document.addEventListener('click', (event) => { if (!event.target.closest('.search')) close(); });
  document.addEventListener('keydown', (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if (event.key === '/' && !typing) { event.preventDefault(); input.focus(); }
    if (event.key === 'Escape' && !typing) closeDetails();
  });
}

function startWhich() {
  if (PLACEMENTS.length < 2) return;
  const which = document.getElementById('which');
  which.hidden = false;
  const choices = [[PLACEMENTS.map((p) => p.label).join(' over '), [0, 1]], [PLACEMENTS[0].label, [0]], [PLACEMENTS[1].label, [1]]];
  choices.forEach(([label, placements], i) => which.append(el('label', {},
    el('input', { type: 'radio', name: 'which', checked: i === 0, onchange: () => { shown.placements = placements; makeRows(); drawTimeline(); drawGraph(); } }), ' ' + label)));
}

startSummary();
startWhich();
startMoved();
startGraph();
startTimeline();
startMemory();
startTransfers();
startRules();
startSearch();
