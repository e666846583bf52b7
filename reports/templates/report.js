"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const root = document.documentElement;
  const table = find("table");
  const entries = [...table.tBodies];
  const cards = [...document.querySelectorAll(".card")];
  const rules = [...document.querySelectorAll(".rule")];
  const components = [...document.querySelectorAll(".component")];
  const state = { verdict: "", rule: "", component: "", namespace: "", words: [] };
  root.classList.add("js");

  // Theme: the system's until the reader chooses. Storage may be forbidden for files; then it lasts for this visit.
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const stored = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("adhere-theme");
      localStorage.setItem("adhere-theme", value);
    } catch { /* see above */ }
    return null;
  };
  const nameTheme = () => { find("theme").textContent = dark() ? "Light" : "Dark"; };
  if (["light", "dark"].includes(stored())) root.dataset.theme = stored();
  find("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    stored(root.dataset.theme);
    nameTheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  nameTheme();

  // Groups: a heading before the entries that share a component, owner or namespace; it counts what is shown of them.
  let headings = [];
  const describe = (heading) => {
    const members = heading.members.filter((entry) => !entry.hidden);
    const failing = members.filter((entry) => entry.dataset.verdict === "fail").length;
    const unknown = members.filter((entry) => entry.dataset.verdict === "inconclusive").length;
    heading.body.hidden = members.length === 0;
    heading.sum.textContent = [
      `${members.length} endpoint${members.length === 1 ? "" : "s"}`,
      failing ? `${failing} fail${failing === 1 ? "s" : ""}` : "",
      unknown ? `${unknown} inconclusive` : "",
    ].filter(Boolean).join(", ");
    heading.body.className = `group ${failing ? "fail" : unknown ? "inconclusive" : ""}`;
  };
  const headingOf = (name) => {
    const body = document.createElement("tbody");
    const row = body.insertRow();
    const cell = document.createElement("th");
    const sum = document.createElement("span");
    body.setAttribute("role", "rowgroup");
    row.setAttribute("role", "row");
    cell.setAttribute("role", "rowheader");
    cell.colSpan = 5;
    cell.append(name, " ", sum);
    row.append(cell);
    return { body, sum, members: [] };
  };
  const arrange = (ordered) => { // the first entry of a group, in the present order, decides where the group stands
    for (const { body } of headings) body.remove();
    const key = find("group")?.value ?? "";
    const groups = new Map();
    for (const entry of ordered) {
      const name = (key && entry.dataset[key]) || "";
      if (!groups.has(name)) groups.set(name, headingOf(name));
      groups.get(name).members.push(entry);
    }
    headings = [...groups.entries()].filter(([name]) => name).map(([, heading]) => heading);
    for (const [name, { body, members }] of groups) table.append(...(name ? [body] : []), ...members);
    for (const heading of headings) describe(heading);
  };

  // Filter. The text of an entry is gathered when the first search needs it; what merely passed is not searched,
  // or the name of a rule would find every endpoint that it looked at.
  const texts = new Map();
  const textOf = (entry) => {
    if (!texts.has(entry)) {
      const parts = entry.querySelectorAll(".line, .finding, .evidences");
      texts.set(entry, [...parts].map((part) => part.textContent).join(" ").toLowerCase());
    }
    return texts.get(entry);
  };
  const matches = (entry) =>
    (!state.verdict || entry.dataset.verdict === state.verdict) &&
    (!state.rule || entry.dataset.rules.split(" ").includes(state.rule)) &&
    (!state.component || entry.dataset.component === state.component) &&
    (!state.namespace || entry.dataset.namespace === state.namespace) &&
    (!state.words.length || state.words.every((word) => textOf(entry).includes(word)));
  const apply = () => {
    let shown = 0;
    for (const entry of entries) {
      entry.hidden = !matches(entry);
      shown += entry.hidden ? 0 : 1;
    }
    find("count").textContent = shown === entries.length ? `${shown} shown` : `${shown} of ${entries.length} shown`;
    find("none").hidden = shown > 0 || entries.length === 0;
    find("clear").hidden = shown === entries.length && !Object.values(state).some((value) => value.length);
    for (const heading of headings) describe(heading);
    for (const name of picked) find(name).value = state[name];
    for (const one of components) one.setAttribute("aria-pressed", String(one.dataset.component === state.component));
    for (const card of cards) card.setAttribute("aria-pressed", String(card.dataset.verdict === state.verdict));
    for (const rule of rules) rule.setAttribute("aria-pressed", String(rule.dataset.rule === state.rule));
  };
  const clear = () => {
    Object.assign(state, { verdict: "", rule: "", component: "", namespace: "", words: [] });
    find("search").value = "";
    apply();
  };
  let timer = 0;
  find("search").addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      state.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      apply();
    }, entries.length > 500 ? 150 : 0);
  });
  for (const card of cards) card.addEventListener("click", () => {
    state.verdict = state.verdict === card.dataset.verdict ? "" : card.dataset.verdict;
    apply();
  });
  for (const rule of rules) rule.addEventListener("click", () => {
    state.rule = state.rule === rule.dataset.rule ? "" : rule.dataset.rule;
    apply();
    if (state.rule) find("endpoints").scrollIntoView();
  });
  const picked = ["component", "namespace"].filter((name) => find(name));
  for (const name of picked) {
    const values = new Set(entries.map((entry) => entry.dataset[name]).filter(Boolean));
    for (const value of [...values].sort(new Intl.Collator("en", { numeric: true }).compare)) {
      find(name).append(new Option(value.length > 60 ? `${value.slice(0, 59)}…` : value, value));
    }
    find(name).addEventListener("change", (event) => {
      state[name] = event.target.value;
      apply();
    });
  }
  for (const one of components) one.addEventListener("click", () => {
    state.component = state.component === one.dataset.component ? "" : one.dataset.component;
    apply();
    if (state.component) find("endpoints").scrollIntoView();
  });
  find("clear").addEventListener("click", clear);
  find("clear2").addEventListener("click", clear);

  // Open and close.
  const open = (entry, yes) => {
    entry.classList.toggle("open", yes);
    entry.querySelector(".toggle").setAttribute("aria-expanded", String(yes));
  };
  table.addEventListener("click", (event) => {
    const line = event.target.closest(".line");
    if (line && !String(getSelection())) open(line.parentElement, !line.parentElement.classList.contains("open"));
  });
  find("expand").addEventListener("click", (event) => {
    const yes = event.target.getAttribute("aria-pressed") !== "true";
    event.target.setAttribute("aria-pressed", String(yes));
    event.target.textContent = yes ? "Close all" : "Open all";
    for (const entry of entries) if (!entry.hidden || !yes) open(entry, yes);
  });

  // Sort. Ties keep the order of the report, the worst first.
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const place = new Map(entries.map((entry, index) => [entry, index]));
  const headers = [...table.tHead.querySelectorAll("th")];
  const sort = (header, sign) => {
    const { key } = header.firstElementChild.dataset;
    for (const other of headers) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const order = (a, b) => {
      const [left, right] = [a.dataset[key], b.dataset[key]];
      if (!left !== !right) return left ? -1 : 1; // nothing known: last, whichever way
      return sign * compare(left, right) || place.get(a) - place.get(b);
    };
    arrange([...entries].sort(order));
  };
  for (const header of headers) header.firstElementChild.addEventListener("click", () => {
    sort(header, header.getAttribute("aria-sort") === "ascending" ? -1 : 1);
  });
  sort(headers[0], 1);
  find("group")?.addEventListener("change", () => {
    const header = headers.find((one) => one.hasAttribute("aria-sort"));
    sort(header, header.getAttribute("aria-sort") === "ascending" ? 1 : -1);
  });

  // Copy a command.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    const code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch { // no clipboard here: select it, so that one key copies it
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  for (const button of document.querySelectorAll(".copy")) button.hidden = false;

  // Links to one endpoint (#e7) and to a rule (#rule-...) open what they lead to.
  const follow = () => {
    const target = location.hash && find(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.matches(".endpoint")) {
      target.hidden = false;
      open(target, true);
    }
    if (target.tagName === "DETAILS") target.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, textarea")) {
      event.preventDefault();
      find("search").focus();
    } else if (event.key === "Escape" && event.target === find("search")) {
      clear();
    }
  });

  // On paper nothing can be opened: print with the evidence open, then put it back.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.evidence:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });

  find("controls").hidden = false;
  find("theme").hidden = false;
  apply();
  follow();
})();
