"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const every = (selector) => [...document.querySelectorAll(selector)];
  const root = document.documentElement;
  const table = find("table");
  const { words, symbols, rows, keys, nodes } = JSON.parse(find("data").textContent);
  const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

  // The table of values: a list has the numbers of its items, an object that of its keys (negative) and of its values.
  const read = (number) => {
    const node = nodes[number];
    if (!Array.isArray(node)) return node;
    if (!(node[0] < 0)) return node.map(read);
    return Object.fromEntries(keys[-1 - node[0]].map((key, place) => [key, read(node[place + 1])]));
  };
  const member = (number, key) => read(nodes[number][1 + keys[-1 - nodes[number][0]].indexOf(key)]);
  const entries = rows.map((number, place) => ({
    number, place, open: false, facets: member(number, "facets"), order: String(member(number, "order")),
  }));
  const sorted = (entry, key) => (key === "order" ? entry.order : (entry[key] ??= member(entry.number, key)));

  // Search in the table, not in the rows: a value is found if it has the word, or has a value that was found. Findings
  // that passed and refused versions are not searched, or the name of a rule would find every endpoint.
  const unsearched = keys.map((names) => names.map((name) => ["facets", "settled", "refused"].includes(name)));
  const found = new Map();
  const containing = (word) => {
    if (found.has(word)) return found.get(word);
    const has = new Uint8Array(nodes.length);
    nodes.forEach((node, number) => {
      if (typeof node === "string") has[number] = node.toLowerCase().includes(word);
      else if (!Array.isArray(node)) return;
      else if (node[0] < 0) {
        const skipped = unsearched[-1 - node[0]];
        has[number] = node.some((item, place) => place > 0 && has[item] && !skipped[place - 1]);
      } else has[number] = node.some((item) => has[item]);
    });
    if (found.size > 50) found.clear();
    found.set(word, has);
    return has;
  };

  // Elements. Texts of servers become text nodes, never HTML.
  const h = (kind, ...children) => {
    const [name, ...classes] = kind.split(".");
    const element = document.createElement(name);
    if (classes.length) element.className = classes.join(" ");
    element.append(...children.flat(Infinity).filter((child) => child || child === 0));
    return element;
  };
  const set = (element, attributes) => {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const breakable = (text) => (text.match(/[^/:#]*[/:#]+|[^/:#]+$/g) ?? []).flatMap((piece) => [piece, h("wbr")]);
  const items = (list, kind = "ul.items") => h(kind, list.map((text) => h("li", h("code", text))));
  const folded = (name, list) => h("details.evidence", h("summary", name), items(list));
  const facts = (list) => h("dl.facts", list.flatMap(([name, value, why]) => [
    h("dt", name),
    h("dd", value === null ? h("span.unknown", why) : name === "SHA-256" ? h("code.hash", value) : value),
  ]));
  const rule = (id) => set(h("a", h("code", id)), { href: `#rule-${id}` });
  const part = ([name, texts]) => {
    if (name === "evidence") return folded(name, texts);
    const title = h("h4", name);
    if (name === "reproduce") {
      return h("div.reproduce", title, h("div.command", h("code", texts[0]), set(h("button.copy.quiet", "Copy"), { type: "button" })));
    }
    return h(`div.${name.replace(" ", "-")}`, title, ["observed", "expected"].includes(name) ? items(texts) : h("p", texts[0]));
  };
  const finding = (one) => h(`article.finding.${one.outcome}`,
    h("h3", h(`span.pill.${one.label}`, one.label.replace("_", " ")), " ", rule(one.rule), one.status && [" ", h("span.status", one.status)]),
    h("p.message", one.message),
    h("div.parts", one.details.map(part)));
  const versions = (list) => {
    if (typeof list === "string") return h("p.unknown", list);
    return set(h("ul.strip", list.map((one) => {
      const state = ["accepted", "refused", "unknown"].find((each) => each in one);
      const item = h(`li.${state}${one.offending ? ".offending" : ""}`, one[state], h("span", ` ${state}`));
      return one.note ? set(item, { title: one.note }) : item;
    })), { "aria-label": "Versions" });
  };
  const suites = ({ versions: names, rows: lines, more }, notes) => lines.length > 0 && [
    set(h("div.scroll", h("table.matrix",
      h("thead", h("tr", ["Accepted suite", ...names].map((name) => set(h("th", name), { scope: "col" })))),
      h("tbody", lines.map(([name, offending, accepted]) => h(offending ? "tr.offending" : "tr",
        set(h("th", h("code", name), offending && [" ", h("span.pill.fail", "not allowed")]), { scope: "row" }),
        accepted.map((yes) => h("td", yes && [set(h("span", "●"), { "aria-hidden": "true" }), h("span.hidden", "accepted")]))))),
    )), { tabindex: "0", role: "group", "aria-label": "Accepted cipher suites" }),
    more > 0 && h("p.unknown", `${more} more suites are in the JSON report.`),
    notes.map(([name, note]) => h("p.unknown", `${name}: ${note}.`)),
  ];
  const detail = (one) => [
    h("div.findings",
      one.findings.map(finding),
      one.findings.length === 0 && h("p.message", one.reason),
      one.settled.length > 0 && h("div.settled", h("h4", "Also checked"), h("ul", one.settled.map(([verdict, id, message, observed]) =>
        h(`li.${verdict}`, set(h("span", verdict === "informational" ? "·" : symbols[verdict] ?? "–"), { "aria-hidden": "true" }),
          " ", h("code", id), ` ${message}`, observed && h("span.unknown", ` (${observed})`)))))),
    h("div.evidences",
      h("section", h("h3", "Versions and cipher suites"), versions(one.versions),
        suites(one.suites, typeof one.versions === "string" ? [] : one.versions.filter((each) => each.accepted && each.note).map((each) => [each.accepted, each.note])),
        h("h4", "Key-exchange groups"),
        typeof one.groups === "string" ? h("p.unknown", one.groups) : h("ul.chips", one.groups.map(([name, offending]) => h(offending ? "li.offending" : "li", name)))),
      h("section", h("h3", "Certificate chain"), typeof one.chain === "string" ? h("p.unknown", one.chain)
        : h("ol.chain", one.chain.map(([subject, list]) => h("li", h("p.subject", subject), facts(list))))),
      h("section", h("h3", "Requirements"), facts(one.requirements),
        one.because.length > 0 && [h("h4", "Because"), h("ol.because", one.because.map((step) => h("li", step)))],
        one.remarks.length > 0 && [h("h4", "Remarks"), h("ul.because", one.remarks.map((remark) => h("li", remark)))]),
      h("section", h("h3", "Handshakes"), facts(one.facts), one.attempts.length > 0 && folded("Every connection", one.attempts))),
  ];
  const cell = (kind, ...children) => set(h(`td.${kind}`, ...children), { role: "cell" });
  const lines = (entry) => {
    const one = read(entry.number);
    const toggle = set(h("button.toggle", set(h("span.mark", symbols[one.outcome]), { "aria-hidden": "true" }), words[one.outcome]),
      { type: "button", "aria-expanded": String(entry.open), "aria-controls": `d${entry.place}` });
    const versionOf = ([name, offending]) => h(`span.version${offending ? ".offending" : ""}`, name);
    const line = h(`tr.line.${one.outcome}${entry.open ? ".open" : ""}`,
      cell("verdict", toggle),
      cell("name", h("b", breakable(one.id)), one.place && h("span.sub", one.place), one.owner && h("span.sub", breakable(one.owner))),
      cell("speaks", one.accepted.length ? [one.accepted.map(versionOf), one.mtls && h("span.version.mtls", one.mtls)] : h("span.unknown", one.speaks)),
      cell("cert", one.key ? [one.key, h("span.sub", one.ends ? `to ${one.ends}, ${one.left}` : one.left)] : h("span.unknown", "–")),
      cell("why", one.severity && [h(`span.pill.${one.severity}`, one.severity), " "], one.why));
    set(line, { role: "row", id: `e${entry.place}` });
    entry.line = line;
    if (!entry.open) return [line];
    const inside = set(cell("inside", detail(one)), { colspan: "5" });
    return [line, set(h(`tr.detail.${one.outcome}`, inside), { role: "row", id: `d${entry.place}` })];
  };
  const toggle = (entry) => {
    const focused = document.activeElement?.closest(".toggle") && entry.line.contains(document.activeElement);
    if (entry.open) entry.line.nextElementSibling.remove();
    entry.open = !entry.open;
    const before = entry.line;
    before.replaceWith(...lines(entry));
    if (focused) entry.line.querySelector(".toggle").focus();
    remember();
  };

  // The list: its rows stand in blocks, and a block is filled when it comes near the window.
  const BLOCK = 40;
  const PRINTED = 200;
  const state = { facets: {}, search: "", key: "order", sign: 1, shown: entries };
  let blocks = new Map();
  const fill = (body) => {
    const content = blocks.get(body);
    if (!content) return;
    blocks.delete(body);
    near.unobserve(body);
    body.removeAttribute("aria-hidden");
    set(body, { role: "rowgroup" });
    body.replaceChildren(...content.flatMap((each) => (each.members ? [heading(each)] : lines(each))));
  };
  const near = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) fill(target);
  }, { rootMargin: "1200px" });
  const heading = ({ name, members }) => {
    const of = (outcome) => members.filter((entry) => entry.facets.outcome[0] === outcome).length;
    const [failing, unknown] = [of("fail"), of("inconclusive")];
    const sum = [plural(members.length, "endpoint"), failing && `${failing} fail${failing === 1 ? "s" : ""}`, unknown && `${unknown} inconclusive`];
    const title = set(h("th", name, " ", h("span", sum.filter(Boolean).join(", "))), { role: "rowheader", colspan: "5" });
    return set(h(`tr.group${failing ? ".fail" : unknown ? ".inconclusive" : ""}`, title), { role: "row" });
  };
  const arrange = () => { // the first entry of a group, in the present order, decides where the group stands
    const by = find("group")?.value ?? "";
    const groups = new Map();
    for (const entry of state.shown) {
      const name = (by && (entry.facets[by][0] ?? "cluster-scoped objects")) || "";
      if (!groups.has(name)) groups.set(name, { name, members: [] });
      groups.get(name).members.push(entry);
    }
    const list = [...groups.values()].flatMap((group) => (group.name ? [group, ...group.members] : group.members));
    near.disconnect();
    for (const body of [...table.tBodies]) body.remove();
    blocks = new Map();
    for (let start = 0; start < list.length; start += BLOCK) {
      const content = list.slice(start, start + BLOCK);
      const gap = set(h("td"), { colspan: "5" });
      gap.style.height = `${content.reduce((sum, each) => sum + (each.open ? 900 : 60), 0)}px`;
      const body = set(h("tbody", h("tr", gap)), { "aria-hidden": "true" });
      blocks.set(body, content);
      table.append(body);
      near.observe(body);
    }
    if (table.tBodies.length) fill(table.tBodies[0]);
    table.hidden = list.length === 0;
  };

  // Filters: in the fragment of the address, so that a link or a bookmark keeps them.
  const NAMES = ["outcome", "severity", "rule", "component", "namespace", "workload", "has", "expires", "finding"];
  const wordsOf = (text) => [...text.toLowerCase().matchAll(/"([^"]+)"?|[^\s"]+/g)].map((match) => match[1] ?? match[0]);
  const address = () => {
    const parameters = Object.entries({ ...state.facets, q: state.search, open: entries.filter((each) => each.open).slice(0, 5).map((each) => each.place).join(",") });
    return parameters.filter(([, value]) => value).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  };
  const remember = () => { history.replaceState(null, "", `#${address() || "endpoints"}`); mark(); };
  const mark = () => {
    for (const link of every("a[href*='=']")) {
      if (new URL(link.getAttribute("href"), location.href).hash === location.hash) set(link, { "aria-current": "true" });
      else link.removeAttribute("aria-current");
    }
  };
  const labelOf = (name, value) => {
    if (name === "outcome") return words[value] ?? value;
    if (name === "expires") return `certificate: ${value}`;
    if (name === "finding") return document.querySelector(`a[href="#finding=${CSS.escape(value)}"]`)?.closest("li").querySelector(".message").textContent ?? name;
    return name === "has" ? value : `${name}: ${value}`;
  };
  const apply = () => {
    const facets = Object.entries(state.facets);
    const searched = wordsOf(state.search).map(containing);
    const compare = new Intl.Collator("en", { numeric: true }).compare;
    state.shown = entries.filter((entry) =>
      facets.every(([name, value]) => entry.facets[name].includes(value)) && searched.every((has) => has[entry.number]));
    state.shown.sort((a, b) => {
      const [left, right] = [sorted(a, state.key), sorted(b, state.key)];
      if (!left !== !right) return left ? -1 : 1; // unknown: last in both directions
      return state.sign * compare(left, right) || a.place - b.place;
    });
    const all = state.shown.length === entries.length;
    find("count").textContent = all ? `${entries.length} shown` : `${state.shown.length} of ${entries.length} shown`;
    find("none").hidden = state.shown.length > 0 || entries.length === 0;
    find("clear").hidden = all && facets.length === 0 && !state.search;
    for (const name of picked) find(name).value = state.facets[name] ?? "";
    if (document.activeElement !== find("search")) find("search").value = state.search;
    find("chips").hidden = facets.length === 0;
    find("chips").replaceChildren(...facets.map(([name, value]) => {
      const chip = set(h("button.quiet", labelOf(name, value).slice(0, 100), " ×"), { type: "button" });
      chip.addEventListener("click", () => { go({ ...state.facets, [name]: undefined }); });
      return h("li", chip);
    }));
    root.classList.toggle("long", state.shown.length > PRINTED);
    find("unprinted").textContent = `The list of ${state.shown.length} endpoints is not printed. Filter it to at most ${PRINTED} to print it.`;
    certificates();
    arrange();
  };
  const certificates = () => { // the same filter, where certificates are listed
    const lines = every(".certificates tbody tr");
    const step = state.facets.expires;
    for (const line of lines) line.hidden = Boolean(step) && line.dataset.expires !== step;
    if (!find("expiring")) return;
    find("expiring").hidden = !step;
    find("expiring").textContent = `Filter: ${step}. ${lines.filter((line) => !line.hidden).length} of ${lines.length} certificates are shown.`;
  };
  const go = (facets) => {
    state.facets = Object.fromEntries(Object.entries(facets).filter(([, value]) => value));
    history.pushState(null, "", `#${address() || "endpoints"}`);
    apply();
    mark();
  };
  const clear = () => {
    find("search").value = state.search = "";
    go({});
  };
  const follow = () => { // the address has filters, or leads to a section or a rule
    const text = location.hash.slice(1);
    if (!text.includes("=")) {
      const target = text ? find(text) : null;
      if (target?.tagName === "DETAILS") target.open = true;
      target?.scrollIntoView();
      return false;
    }
    const parameters = new URLSearchParams(text.replaceAll("+", "%2B"));
    state.facets = Object.fromEntries(NAMES.filter((name) => parameters.get(name)).map((name) => [name, parameters.get(name)]));
    state.search = parameters.get("q") ?? "";
    find("search").value = state.search;
    const open = (parameters.get("open") ?? "").split(",").filter(Boolean).map(Number);
    for (const entry of entries) entry.open = open.includes(entry.place);
    apply();
    mark();
    const [first] = state.shown.filter((entry) => entry.open);
    if (first) for (const body of [...blocks.keys()]) if (blocks.get(body).includes(first)) fill(body);
    (first?.line ?? find(state.facets.expires && find("certificates") ? "certificates" : "endpoints")).scrollIntoView();
    return true;
  };

  // What people click and type.
  const picked = ["component", "namespace"].filter((name) => find(name));
  for (const name of picked) {
    const values = new Set(entries.flatMap((entry) => entry.facets[name]));
    for (const value of [...values].sort(new Intl.Collator("en", { numeric: true }).compare)) {
      find(name).append(new Option(value.length > 60 ? `${value.slice(0, 59)}…` : value, value));
    }
    find(name).addEventListener("change", (event) => { go({ ...state.facets, [name]: event.target.value }); });
  }
  let timer = 0;
  find("search").addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      state.search = event.target.value.trim();
      apply();
      remember();
    }, entries.length > 500 ? 150 : 0);
  });
  find("clear").addEventListener("click", clear);
  find("clear2").addEventListener("click", clear);
  find("group")?.addEventListener("change", arrange);
  find("expand").addEventListener("click", (event) => {
    const yes = event.target.getAttribute("aria-pressed") !== "true";
    event.target.setAttribute("aria-pressed", String(yes));
    event.target.textContent = yes ? "Close all" : "Open all";
    for (const entry of yes ? state.shown : entries) entry.open = yes;
    arrange();
  });
  const headers = [...table.tHead.querySelectorAll("th")];
  const order = (header, sign) => {
    for (const other of headers) other.removeAttribute("aria-sort");
    set(header, { "aria-sort": sign > 0 ? "ascending" : "descending" });
    Object.assign(state, { key: header.firstElementChild.dataset.key, sign });
  };
  for (const header of headers) header.firstElementChild.addEventListener("click", () => {
    order(header, header.getAttribute("aria-sort") === "ascending" ? -1 : 1);
    apply();
  });
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a[aria-current]");
    if (link) { // a second click takes the filter away
      event.preventDefault();
      go({});
    }
    const line = event.target.closest(".line");
    if (line && !String(getSelection())) toggle(entries[Number(line.id.slice(1))]);
    const button = event.target.closest(".copy");
    if (!button) return;
    const code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch { // no clipboard: select the command, so that one key copies it
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, textarea")) {
      event.preventDefault();
      find("search").focus();
    } else if (event.key === "Escape" && event.target === find("search")) {
      clear();
    }
  });
  addEventListener("hashchange", follow);

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

  // Paper: the details of what failed are open, and a short list is complete.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = every(".failure:not(.rest *) details:not([open]), .rest:not([open])");
    for (const one of opened) one.open = true;
    if (!root.classList.contains("long")) for (const body of [...blocks.keys()]) fill(body);
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });

  for (const button of every(".copy")) button.hidden = false;
  for (const id of ["controls", "theme"]) find(id).hidden = false;
  root.classList.add("js");
  order(headers[0], 1);
  if (!follow()) apply();
})();
