// What has to happen in the browser at once: the field, its completions, keys, folds that stay open, copying.
// It listens on the document, because the page's elements come and go.
"use strict";

const autocompactPage = (() => {
  const $ = (id) => document.getElementById(id);
  const open = new Set(); // data-key of the folds that are open
  let replaces = 0; // the message that what is written will replace
  let sending = false; // what is written is on its way
  let chosen = -1; // the completion that is marked

  // The field

  const draftKey = () => "draft:" + location.pathname;

  function fit(field) {
    field.style.height = "auto";
    const needed = field.value.length > 20_000 ? Infinity : field.scrollHeight; // measuring a long text takes long
    field.style.height = Math.min(needed, innerHeight * 0.4) + "px";
  }

  function written(field) {
    fit(field);
    if (!replaces) keepDraft(field.value);
    $("toolong").hidden = !isTooLong(field);
    $("length").textContent = field.value.length.toLocaleString();
    complete(field);
  }

  function isTooLong(field) {
    const most = Number(field.dataset.most);
    return field.value.length > most / 2 && JSON.stringify(field.value).length > most;
  }

  function keepDraft(text) {
    try {
      sessionStorage.setItem(draftKey(), text);
    } catch {
      sessionStorage.removeItem(draftKey()); // larger than the browser keeps
    }
  }

  function say() {
    const field = $("field");
    const attached = autocompactFiles.ids();
    if (!field || field.disabled || sending || !$("toolong").hidden) return;
    if (attached.includes("") || !(field.value.trim() || attached.length)) return; // "" is on its way
    close();
    sending = true;
    field.dispatchEvent(new CustomEvent("say", { detail: { text: field.value, replaces, attached } }));
  }

  function answered(taken) {
    sending = false;
    if (!taken) return focus();
    autocompactFiles.clear();
    put("", 0);
    toEnd();
  }

  function put(text, seq) {
    const field = $("field");
    if (!field) return;
    replaces = seq;
    field.value = text;
    document.querySelector(".editing").classList.toggle("shown", seq > 0);
    if (seq) $("edited").textContent = "m" + seq;
    if (!seq) keepDraft(text);
    $("toolong").hidden = true;
    fit(field);
    focus();
  }

  function giveBack(text) {
    const written = $("field").value;
    put(written.trim() ? text + "\n\n" + written : text, replaces);
  }

  function focus() {
    const field = $("field");
    if (field && !field.disabled) field.focus();
  }

  // A button that goes away once it was used leaves the focus to the field.
  function leave(button) {
    const until = performance.now() + 3000;
    const look = () => {
      const at = document.activeElement;
      if (at !== button && at !== document.body) return;
      if (!button.isConnected || !button.offsetParent) focusUnlessTouched();
      else if (performance.now() < until) requestAnimationFrame(look);
    };
    look();
  }

  function focusIn(id, selector) {
    requestAnimationFrame(() => {
      const target = document.querySelector(`#${id} :is(${selector})`);
      if (target) target.focus();
    });
  }

  // What was opened comes into sight: whole, or from its beginning where it is higher than the screen.
  function bring(id) {
    requestAnimationFrame(() => {
      const opened = $(id);
      if (!opened) return;
      held = null;
      const room = opened.closest(".scroller").clientHeight;
      opened.scrollIntoView({ block: opened.offsetHeight < room ? "nearest" : "start" });
    });
  }

  // The field was off for a while, which took the focus from it. It comes back as soon as the field is on again, unless
  // the person went elsewhere meanwhile. After a dialog (forced) it waits until that has given the focus back.
  function resume(forced) {
    const until = performance.now() + 5000;
    const look = () => {
      const field = $("field"), dialog = document.querySelector(".q-dialog");
      if (!field || field.disabled || (forced && dialog)) {
        if (performance.now() < until) requestAnimationFrame(look);
      } else if (!dialog && (forced || document.activeElement === document.body)) {
        focusUnlessTouched();
      }
    };
    look();
  }

  function focusUnlessTouched() {
    if (matchMedia("(hover: hover)").matches) focus(); // else a keyboard would cover half the screen
  }

  // Completions of commands

  function commands() {
    return JSON.parse($("field").dataset.commands || "[]");
  }

  function complete(field) {
    const list = $("completions");
    const word = field.value;
    const found = word.startsWith("/") && !/\s/.test(word) ? commands().filter(([name]) => name.startsWith(word)) : [];
    list.replaceChildren(
      ...found.map(([name, args, help], n) => {
        const item = document.createElement("li");
        item.id = "completion-" + n;
        item.setAttribute("role", "option");
        item.dataset.name = name;
        const code = document.createElement("code");
        code.textContent = (name + " " + args).trim();
        const words = document.createElement("span");
        words.textContent = help;
        item.append(code, words);
        return item;
      }),
    );
    list.hidden = !found.length;
    mark(found.length ? 0 : -1);
  }

  function mark(n) {
    chosen = n;
    const items = [...$("completions").children];
    items.forEach((item, i) => item.setAttribute("aria-selected", String(i === n)));
    if (items[n]) items[n].scrollIntoView({ block: "nearest" });
    if (n >= 0) $("field").setAttribute("aria-activedescendant", "completion-" + n);
    else $("field").removeAttribute("aria-activedescendant");
  }

  function close() {
    $("completions").hidden = true;
    mark(-1);
  }

  function take(n) {
    const item = $("completions").children[n];
    if (!item) return;
    $("field").value = item.dataset.name + " ";
    written($("field"));
    focus();
  }

  function completionKey(event) {
    const count = $("completions").children.length;
    if (event.key === "ArrowDown") mark((chosen + 1) % count);
    else if (event.key === "ArrowUp") mark((chosen + count - 1) % count);
    else if (event.key === "Tab") take(chosen);
    else if (event.key === "Enter" && $("completions").children[chosen].dataset.name !== $("field").value) take(chosen);
    else if (event.key === "Escape") close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  // Keys

  function fieldKey(event) {
    if (!$("completions").hidden && completionKey(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      say();
    } else if (event.key === "ArrowUp" && !event.target.value) {
      const last = [...document.querySelectorAll(".message.user [data-action=edit]")].pop();
      if (last) last.click();
    }
  }

  // An item of a list is one tab stop: arrows lead from one to the next, and into its buttons and back.

  function arrow(event) {
    const at = document.activeElement;
    const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const along = event.key === "ArrowRight" || event.key === "ArrowLeft";
    const options = at.closest(".options");
    if (options && !along) return beside([...options.querySelectorAll("button")], at, step);
    const message = at.closest(".message"), item = at.closest(".conversations > li");
    if (message && (at === message || at.closest("footer"))) {
      if (along) return beside([message, ...message.querySelectorAll("footer a, footer button:enabled")], at, step);
      return beside([...document.querySelectorAll(".messages .message")], message, step);
    }
    if (item && !options) {
      if (along) return beside([item.querySelector("a.title"), item.querySelector("summary")], at, step);
      return beside([...document.querySelectorAll(".conversations a.title")], item.querySelector("a.title"), step);
    }
    return false;
  }

  function beside(all, at, step) {
    const target = all[all.indexOf(at) + step];
    if (!target) return false;
    held = null;
    target.focus();
    return true;
  }

  function escape() {
    if (document.querySelector(".q-dialog")) return;
    const menu = document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    } else if (document.body.classList.contains("list-open")) toggleList(false);
    else if (replaces) put("", 0);
    else if ($("stop") && $("stop").offsetParent !== null) $("stop").click();
  }

  document.addEventListener("keydown", (event) => {
    if (event.target.id === "field") fieldKey(event);
    else if (event.key === "Enter" && event.target.matches(".connect input, .connect select")) event.target.closest(".connect").querySelector("[data-go]").click();
    if (event.defaultPrevented) return;
    const typing = event.target.closest("input, textarea, [contenteditable]");
    if (event.key === "Escape") escape();
    else if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      $("search").click();
    } else if (event.key.toLowerCase() === "n" && event.altKey) {
      event.preventDefault();
      $("new").click();
    } else if (event.key.toLowerCase() === "l" && event.altKey) {
      event.preventDefault();
      toggleList();
    } else if (event.key === "?" && !typing && !document.querySelector(".q-dialog")) {
      event.preventDefault();
      $("shortcuts").click();
    } else if (event.key.startsWith("Arrow") && !typing && !event.ctrlKey && !event.metaKey && !event.altKey && arrow(event)) {
      event.preventDefault();
    } else if (event.key === "/" && !typing) {
      event.preventDefault();
      focus();
    }
  });

  document.addEventListener("input", (event) => {
    if (event.target.id === "field") written(event.target);
  });

  // The list

  // On a narrow screen the list lies over the messages while it is open; on a wide one it can be hidden, and stays so.

  const narrow = matchMedia("(max-width: 52rem)");

  function toggleList(on) {
    const classes = document.body.classList;
    if (narrow.matches) classes.toggle("list-open", on);
    else if (on === undefined) keepList(classes.toggle("list-closed"));
    const shown = narrow.matches ? classes.contains("list-open") : !classes.contains("list-closed");
    $("menu").setAttribute("aria-expanded", String(shown));
    $("fold-list").setAttribute("aria-expanded", String(shown));
    if (shown && (narrow.matches || on === undefined)) $("new").focus();
    else if (!shown && on === undefined) $("menu").focus();
  }

  function keepList(closed) {
    document.cookie = `autocompact_list=${closed ? "closed" : "open"}; path=/; max-age=31536000; samesite=strict`;
  }

  function filter(text) {
    $("filter").value = text;
  }

  function visit(path) {
    toggleList(false);
    if (location.pathname !== path) history.pushState({}, "", path);
    restore();
    toEnd();
    focusUnlessTouched();
  }

  addEventListener("popstate", () => location.reload());

  // Clicks

  // The clipboard is asked for within the click: browsers refuse it once an answer of the server was waited for.
  async function copy(button, words) {
    const text = Promise.resolve(words);
    try {
      const blob = text.then((each) => new Blob([each], { type: "text/plain" }));
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
    } catch {
      const field = Object.assign(document.createElement("textarea"), { value: await text });
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
      button.focus({ preventScroll: true });
    }
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 1500);
  }

  // A message as it was written, in Markdown; as it is shown where the server cannot be reached.
  async function markdownOf(action) {
    try {
      const answer = await fetch(action.closest(".message").dataset.markdown);
      if (answer.ok) return await answer.text();
    } catch {}
    const words = action.closest(".message").querySelectorAll(":scope > .prose, :scope > .bubble");
    return [...words].map((each) => each.innerText).join("\n");
  }

  document.addEventListener("click", (event) => {
    const action = event.target.closest("[data-action]");
    const link = event.target.closest("a[href^=http], a[href^=mailto]");
    const number = event.target.closest("a.number");
    const unfold = event.target.closest("[data-unfold]");
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (menu.contains(event.target) && event.target.closest(".options button")) {
        menu.open = false;
        menu.querySelector("summary").focus({ preventScroll: true }); // where a dialog gives the focus back
      } else if (!menu.contains(event.target)) menu.open = false;
    }
    const going = event.target.closest(".composer button, .live button");
    if (going) leave(going);
    if (action && action.dataset.action === "version") flip(action);
    else if (action && action.dataset.action === "copy-code") copy(action, action.closest(".code").querySelector("pre").innerText);
    else if (action && action.dataset.action === "copy") {
      copy(action, markdownOf(action));
    } else if (unfold) fold(unfold.dataset.unfold, $(unfold.dataset.unfold).classList.contains("folded"));
    else if (number) {
      event.preventDefault();
      reveal(number.hash.slice(1));
    } else if (link) {
      event.preventDefault();
      window.open(link.href, "_blank", "noopener,noreferrer");
    } else if (event.target.closest("#send")) say();
    else if (event.target.closest("#to-end")) toEnd();
    else if (event.target.closest("#unedit")) put("", 0);
    else if (event.target.closest("#menu, #fold-list")) toggleList();
    else if (event.target.closest(".skip")) {
      event.preventDefault();
      focus();
    }
    else if (event.target.closest("#completions li")) take([...$("completions").children].indexOf(event.target.closest("li")));
    else if (event.target.closest("[data-theme]")) theme(event.target.closest("[data-theme]").dataset.theme);
    else if (document.body.classList.contains("list-open") && event.target.closest(".main")) toggleList(false);
  });

  function theme(name) {
    document.cookie = `autocompact_theme=${name}; path=/; max-age=31536000; samesite=strict`;
    Quasar.Dark.set(name === "auto" ? "auto" : name === "dark");
  }

  // The history. The column grows from its end upwards, so at its end it stays there by itself. Whoever reads further up
  // keeps what they read: the first message in sight, or the fold that was just opened, stays where it is.

  let held = null;

  function hold(element, until = Infinity) {
    held = { id: element.id, element, y: element.getBoundingClientRect().top, until };
  }

  function remember() {
    const scroller = $("scroller");
    if (!scroller || (held && held.until !== Infinity && held.until > performance.now())) return;
    held = null;
    if (scroller.scrollTop > -4) return;
    const top = scroller.getBoundingClientRect().top;
    for (const message of scroller.querySelectorAll(".message")) {
      if (message.getBoundingClientRect().bottom > top) return hold(message);
    }
  }

  function keep() {
    if (!held || held.until < performance.now()) return remember();
    const element = held.element.isConnected ? held.element : document.getElementById(held.id);
    if (!element) return;
    const moved = element.getBoundingClientRect().top - held.y;
    if (Math.abs(moved) > 1) $("scroller").scrollTop += moved;
  }

  function scrolled() {
    remember();
    $("to-end").hidden = $("scroller").scrollTop > -innerHeight / 2;
  }

  const sizes = new ResizeObserver(keep);
  document.addEventListener("scroll", (event) => event.target.id === "scroller" && scrolled(), true);
  document.addEventListener("wheel", () => (held = null), { passive: true });
  document.addEventListener("pointerdown", folding, true);
  document.addEventListener("keydown", (event) => (event.key === "Enter" || event.key === " ") && folding(event), true);

  function folding(event) {
    const fold = event.target.closest("summary, .divider .line, .choices button, .unfold");
    if (fold && fold.closest(".thread")) hold(fold, performance.now() + 1500);
  }

  // Long messages: what the person folded or unfolded stays so when the message is drawn again.

  const unfolded = new Map(); // by the id of the text: whether it is

  function fold(id, on) {
    unfolded.set(id, on);
    const text = $(id), button = document.querySelector(`[data-unfold="${id}"]`);
    text.classList.toggle("folded", !on);
    button.setAttribute("aria-expanded", String(on));
    button.textContent = on ? "Fold" : "Show all";
    if (!on && text.getBoundingClientRect().top < 0) text.scrollIntoView({ block: "start" });
  }

  // Versions: the buttons stay where they are, and the one that was used keeps the focus, while others are drawn for them.

  let flipped = null;

  function flip(button) {
    const group = button.closest(".versions");
    flipped = { group, which: button.dataset.which, label: group.getAttribute("aria-label"), y: group.getBoundingClientRect().top, seq: button.dataset.seq };
  }

  function land() {
    if (!flipped || flipped.group.isConnected) return;
    const { which, label, seq, y } = flipped;
    const first = Number(seq);
    const groups = [...document.querySelectorAll(`.versions[aria-label="${label}"]`)];
    const group = groups.find((each) => Number(each.closest(".message").id.slice(1)) >= first);
    if (!group) return;
    flipped = null;
    $("scroller").scrollTop += group.getBoundingClientRect().top - y;
    held = null;
    (group.querySelector(`[data-which=${which}]:enabled`) || group.querySelector("button:enabled")).focus({ preventScroll: true });
  }

  // Messages and the list are drawn anew while the person is in them: what took the place of the element that had the focus
  // gets it.

  let focused = null; // the element, and how its successor is found

  function successor(element) {
    const of = (selector, name) => `${selector}="${CSS.escape(name)}"]`;
    const details = element.tagName === "SUMMARY" && element.parentElement.dataset.key;
    if (details) return () => document.querySelector(`${of("details[data-key", details)} > summary`);
    const { do: act, id, unfold } = element.dataset;
    if (act && id) return () => document.querySelector(of(of("[data-do", act) + "[data-id", id));
    if (unfold) return () => document.querySelector(of("[data-unfold", unfold));
    const message = element.closest(".message");
    if (!message) return null;
    const at = [...message.querySelectorAll("footer a, footer button")].indexOf(element);
    return () => {
      const now = $(message.id);
      return now && ([...now.querySelectorAll("footer a, footer button")][at] || now);
    };
  }

  document.addEventListener("focusin", ({ target }) => {
    const find = successor(target);
    focused = find && { element: target, find };
  });
  document.addEventListener("pointerdown", () => (focused = null), true);

  function refocus() {
    if (!focused || focused.element.isConnected) return;
    const target = document.activeElement === document.body ? focused.find() : null;
    focused = null;
    if (target) target.focus({ preventScroll: true });
  }

  function toEnd() {
    held = null;
    const scroller = $("scroller");
    if (scroller) scroller.scrollTop = 0;
  }

  function reveal(id, tries = 40) {
    const target = document.getElementById(id);
    if (!target) {
      if (tries) requestAnimationFrame(() => reveal(id, tries - 1));
      return;
    }
    if (target.tagName === "DETAILS") target.open = true;
    held = null;
    target.scrollIntoView({ block: "center" });
    target.focus({ preventScroll: true });
    target.classList.remove("revealed");
    void target.offsetWidth;
    target.classList.add("revealed");
  }

  document.addEventListener(
    "toggle",
    (event) => {
      const key = event.target.dataset && event.target.dataset.key;
      if (key && event.target.open) open.add(key);
      else if (key && event.target.isConnected) open.delete(key);
    },
    true,
  );

  function local(root) {
    for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
      const when = new Date(time.dateTime);
      if (isNaN(when)) continue;
      time.title = when.toLocaleString();
      const hour = when.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      const today = when.toDateString() === new Date().toDateString();
      time.textContent = today ? hour : when.toLocaleDateString([], { day: "numeric", month: "short" }) + ", " + hour;
    }
  }

  function reopen(root) {
    for (const details of root.querySelectorAll("details[data-key]")) {
      if (open.has(details.dataset.key)) details.open = true;
    }
    for (const text of root.querySelectorAll(".long")) {
      if (unfolded.has(text.id)) fold(text.id, unfolded.get(text.id));
    }
  }

  const seen = new IntersectionObserver((entries) => {
    // before the first messages are drawn the button is in sight, and nobody has scrolled up to it
    const drawn = document.querySelector(".messages .message");
    for (const entry of entries) if (entry.isIntersecting && drawn) entry.target.click();
  });
  const watched = new WeakSet();

  function restore() {
    const field = $("field");
    if (!field) return;
    field.value = sessionStorage.getItem(draftKey()) || "";
    fit(field);
  }

  // the key has done its work: it need not stand in the address, the history and bookmarks
  if (new URLSearchParams(location.search).has("key")) history.replaceState(history.state, "", location.pathname + location.hash);

  document.body.classList.toggle("list-closed", document.cookie.includes("autocompact_list=closed"));

  let begun = false;
  new MutationObserver((changes) => {
    for (const button of document.querySelectorAll("[data-auto]")) {
      if (!watched.has(button)) {
        watched.add(button);
        seen.observe(button);
      }
    }
    for (const change of changes) {
      if (change.target.nodeType === 1 && change.addedNodes.length) {
        reopen(change.target);
        local(change.target);
      }
    }
    land();
    refocus();
    if (!begun && $("field")) {
      begun = true;
      sizes.observe(document.querySelector(".thread"));
      restore();
      focusUnlessTouched();
      if (/^#m\d+$/.test(location.hash)) reveal(location.hash.slice(1));
    }
  }).observe(document.documentElement, { childList: true, subtree: true });

  return { answered, bring, filter, put, giveBack, focus, focusIn, resume, visit, reveal };
})();
