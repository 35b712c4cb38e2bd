// Elements are made with these functions only: texts become text nodes, so no text is ever read as HTML.

export function find(selector, root = document) {
  return root.querySelector(selector);
}

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function clone(name) {
  return find(`#${name}`).content.cloneNode(true);
}

export function percent(share) {
  if (share === 0) return "0%";
  if (share < 0.0005) return "under 0.1%";
  if (share > 0.9995 && share < 1) return "over 99.9%";
  return share < 0.1 ? `${(share * 100).toFixed(1)}%` : `${Math.round(share * 100)}%`;
}

export function countOf(number, one, several = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : several}`;
}

// Calls a function after the calls to it have ceased for a while.
export function settle(action, milliseconds) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), milliseconds);
  };
}

// Arrow keys move between the tabs of a list, as in other tab lists.
export function wireTabs(list, choose) {
  const tabs = [...list.querySelectorAll('[role="tab"]')];
  const select = (tab) => {
    for (const one of tabs) {
      one.setAttribute("aria-selected", String(one === tab));
      one.tabIndex = one === tab ? 0 : -1;
    }
    choose(tab);
  };
  for (const [place, tab] of tabs.entries()) {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      const next = tabs[(place + step + tabs.length) % tabs.length];
      next.focus();
      select(next);
    });
  }
  return select;
}
