// Progressive enhancement: saves drafts, polls and validates early. Pages work without it.
"use strict";
(() => {
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const form = one("#question");
  const timed = form || one("#review");

  // Keeps the token out of the address bar.
  if (timed && location.pathname !== timed.getAttribute("action") && !location.pathname.endsWith("/review")) {
    history.replaceState(null, "", timed.getAttribute("action") + location.search + location.hash);
  }

  // Times in this browser's time zone; without the script, they are in UTC.
  function localise(within = document) {
    for (const time of all("time[data-local]", within)) {
      const date = new Date(time.dateTime);
      if (isNaN(date)) continue;
      time.title = time.textContent;
      time.textContent = date.toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
    }
  }
  localise();

  // --- time -------------------------------------------------------------------------------
  const clock = one(".clock");
  let deadline = 0;
  let warned = false;
  let leaving = false;

  function setTime(left, warn, extend) {
    deadline = performance.now() + left;
    clock.dataset.warn = warn;
    const button = one("button", clock);
    if (button && extend === false) button.remove();
    tick();
  }

  function tick() {
    const left = Math.max(0, deadline - performance.now());
    const data = clock.dataset;
    // Rounded as on the server.
    const seconds = Math.ceil(left / 1000);
    const rounded = (unit) => Math.floor((seconds + unit / 4) / unit);
    let [unit, count] = [0, seconds];
    if (seconds >= 60) [unit, count] = [1, rounded(60)];
    if (rounded(3600) >= 2) [unit, count] = [2, rounded(3600)];
    if (rounded(3600) === 24) [unit, count] = [3, 1];
    if (rounded(86400) >= 2) [unit, count] = [3, rounded(86400)];
    const text = data.left.split("|")[unit * 2 + (count === 1 ? 0 : 1)].replace("{}", count);
    const until = one(".until", clock);
    if (until.textContent !== text) until.textContent = text;
    const late = left <= Number(data.warn);
    clock.classList.toggle("late", late);
    if (!late) {
      warned = false;
      one(".alarm", clock).textContent = "";
    } else if (!warned) {
      warned = true;
      one(".alarm", clock).textContent = data.warning;
    }
    if (left === 0) look();
  }

  async function look() {
    if (leaving) return;
    try {
      const response = await fetch(timed.dataset.state, { cache: "no-store" });
      // Signed out: what was typed stays here.
      if (response.status === 403) return;
      const told = response.ok ? await response.json() : { live: false };
      if (told.live) return setTime(told.left, told.warn, told.extend);
      over();
    } catch { /* Offline; retried at the next poll. */ }
  }

  function over() {
    leaving = true;
    location.replace(timed.getAttribute("action"));
  }

  if (timed && clock) {
    setTime(Number(clock.dataset.deadline), clock.dataset.warn);
    setInterval(tick, 1000);
    setInterval(look, Number(timed.dataset.poll));
    addEventListener("visibilitychange", () => document.hidden || look());
    addEventListener("pageshow", (event) => event.persisted && look());
  }
  const summary = one("#summary");
  if (summary) summary.focus();

  // --- the form ---------------------------------------------------------------------------
  if (form) {
    const kept = one(".kept", form);
    let dirty = false;
    let timer = 0;
    let sending = Promise.resolve();
    const prefix = form.dataset.errorPrefix;
    // The fields whose errors are shown: what was left or has an error already. Those of a page
    // that was checked include missing answers.
    const touched = new Set(all(".field:has(.error:not([hidden]))", form).map((field) => field.id));
    const edited = new Set();
    const checked = Boolean(summary);
    const step = one(".step", form);
    if (step) step.hidden = true;

    function pairs(action) {
      const data = new URLSearchParams();
      for (const [name, value] of new FormData(form)) {
        if (typeof value === "string") data.append(name, value);
      }
      if (checked) data.append("_check", "");
      if (action) data.append("_do", action);
      return data;
    }

    // Sequential, so that the latest input is saved last.
    function keep(action) {
      clearTimeout(timer);
      sending = sending.then(() => send(action));
      return sending;
    }

    async function send(action) {
      const before = pairs().toString();
      dirty = false;
      kept.textContent = form.dataset.saving;
      try {
        const response = await fetch(form.dataset.draft, { method: "POST", body: pairs(action) });
        const told = await response.json();
        if (told.live === false) return over();
        if (!response.ok) throw new Error(told.complaint);
        setTime(told.left, told.warn, told.extend);
        for (const field of told.fields) show(field);
        summarise("", told.others);
        for (const section of all(".section", form)) section.hidden = !one(".field:not([hidden])", section);
        kept.textContent = edited.size ? form.dataset.saved : "";
      } catch (error) {
        dirty = true;
        kept.textContent = error.message && error.constructor === Error ? error.message : form.dataset.notSaved;
      }
      if (pairs().toString() !== before) dirty = true;
    }

    function show({ place, presence, errors }) {
      const field = document.getElementById("q" + place);
      if (!field) return;
      field.hidden = presence === "hidden";
      for (const control of all("input, select, textarea", field)) control.disabled = presence !== "active";
      // A secret that was not kept has to be typed again.
      const waits = one(".masked", field) && !edited.has(field.id);
      if (touched.has(field.id) && !waits) say(field, errors);
    }

    function say(field, errors) {
      const list = document.getElementById("e" + field.dataset.place);
      list.hidden = !errors.length;
      list.replaceChildren(...errors.map((words) => {
        const item = document.createElement("li");
        const hidden = document.createElement("span");
        hidden.className = "unseen";
        hidden.textContent = prefix;
        item.append(hidden, " ", words);
        return item;
      }));
      summarise(field.dataset.place, errors);
      const group = one("fieldset[role=radiogroup]", field);
      for (const control of group ? [group] : all("input:not([type=hidden], [type=checkbox], [type=radio], [type=search]), select, textarea", field)) {
        if (errors.length) control.setAttribute("aria-invalid", "true");
        else control.removeAttribute("aria-invalid");
      }
    }

    // Keeps what the summary says of a field up to date; the summary goes with its last error.
    function summarise(place, errors) {
      const items = all('#summary li[data-place="' + place + '"]');
      const told = (item) => one("a > span", item);
      if (!items.length || errors.join("\n") === items.map((item) => told(item).textContent).join("\n")) return;
      for (const words of errors) {
        const item = items[0].cloneNode(true);
        told(item).textContent = words;
        items[0].before(item);
      }
      for (const item of items) item.remove();
      if (one("#summary li")) return;
      summary.remove();
      if (document.title.startsWith(prefix)) document.title = document.title.slice(prefix.length + 1);
    }

    function typed(event) {
      const field = event.target.closest(".field");
      if (!field || event.target.type === "search" || event.target.type === "file") return;
      dirty = true;
      edited.add(field.id);
      const trigger = field.dataset.check || "on_blur";
      if (trigger === "on_change") touched.add(field.id);
      const isChoice = event.type === "change" && event.target.matches("select, [type=checkbox], [type=radio], [type=range]");
      const pause = Number(field.dataset.pause || (isChoice ? 0 : 600));
      clearTimeout(timer);
      timer = setTimeout(keep, pause);
    }
    form.addEventListener("input", typed);
    form.addEventListener("change", typed);
    form.addEventListener("focusout", (event) => {
      const field = event.target.closest(".field");
      if (!field || field.dataset.check === "on_submit" || !event.target.value) return;
      touched.add(field.id);
      if (dirty) keep();
    });
    addEventListener("beforeunload", (event) => {
      if (dirty && !leaving) event.preventDefault();
    });
    form.addEventListener("submit", (event) => {
      const action = event.submitter ? event.submitter.value : "";
      if (action === "extend") {
        event.preventDefault();
        keep("extend");
        return;
      }
      leaving = true;
      clearTimeout(timer);
    });
    addEventListener("pageshow", (event) => { if (event.persisted) leaving = false; });

    for (const button of all(".reveal", form)) {
      button.hidden = false;
      button.addEventListener("click", () => {
        const input = document.getElementById(button.dataset.for);
        const reveal = input.type === "password";
        input.type = reveal ? "text" : "password";
        button.textContent = reveal ? button.dataset.hide : button.dataset.show;
        button.setAttribute("aria-pressed", reveal);
      });
    }
    for (const slider of all(".slider", form)) {
      const input = one("input", slider);
      input.addEventListener("input", () => { one("output", slider).textContent = input.value; });
    }
    // Says how many characters are left once there are few, and to screen readers when the person
    // pauses.
    for (const field of all("[data-most]", form)) {
      const input = one(".line input, textarea", field);
      if (!input) continue;
      const [seen, spoken] = ["p", "p"].map((name) => field.appendChild(document.createElement(name)));
      seen.setAttribute("aria-hidden", "true");
      spoken.setAttribute("role", "status");
      spoken.className = "unseen";
      const most = Number(field.dataset.most);
      let pause = 0;
      const count = () => {
        const left = most - [...input.value].length;
        const { countOne, count: some, overOne, over } = form.dataset;
        const texts = left < 0 ? [overOne, over] : [countOne, some];
        const isClose = input.value && left <= Math.min(most / 5, 50);
        seen.textContent = isClose ? texts[Math.abs(left) === 1 ? 0 : 1].replace("{}", Math.abs(left)) : "";
        seen.className = "count small " + (left < 0 ? "over" : "quiet");
        clearTimeout(pause);
        pause = setTimeout(() => { spoken.textContent = seen.textContent; }, 1000);
      };
      input.addEventListener("input", count);
      count();
    }
    for (const zone of all(".zone", form)) {
      if (zone.value) continue;
      const minutes = -new Date().getTimezoneOffset();
      const two = (n) => String(Math.floor(n)).padStart(2, "0");
      zone.value = (minutes < 0 ? "-" : "+") + two(Math.abs(minutes) / 60) + ":" + two(Math.abs(minutes) % 60);
    }
    for (const search of all(".search", form)) {
      search.hidden = false;
      const input = one("input", search);
      const list = document.getElementById(input.dataset.filters);
      input.addEventListener("input", () => {
        const wanted = input.value.trim().toLocaleLowerCase();
        for (const option of all(".option", list)) {
          option.hidden = !one("label", option).textContent.toLocaleLowerCase().includes(wanted) && !one("input", option).checked;
        }
      });
      input.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
    }
    for (const fold of all(".fold", form)) {
      const summary = one("summary", fold);
      const empty = summary.textContent;
      fold.addEventListener("change", () => {
        const titles = all("input:checked + label", fold).map((label) => label.textContent);
        summary.textContent = titles.length ? titles.join(", ") : empty;
      });
    }

    // --- files ----------------------------------------------------------------------------
    form.addEventListener("change", (event) => {
      if (event.target.type === "file") upload(event.target.closest(".files"), event.target.files);
    });
    for (const type of ["dragover", "dragleave", "drop"]) {
      form.addEventListener(type, (event) => {
        const files = event.target.closest && event.target.closest(".files.drop");
        if (!files) return;
        event.preventDefault();
        files.classList.toggle("over", type === "dragover");
        if (type === "drop") upload(files, event.dataTransfer.files);
      });
    }
    addEventListener("paste", (event) => {
      const files = event.clipboardData ? event.clipboardData.files : [];
      const focused = document.activeElement.closest(".files");
      const target = focused || one(".field:not([hidden]) .files.drop", form);
      if (files.length && target) {
        event.preventDefault();
        upload(target, files);
      }
    });
    for (const hint of all(".drop-hint", form)) hint.hidden = false;

    async function upload(files, chosen) {
      for (const file of files.dataset.many === undefined ? [...chosen].slice(0, 1) : chosen) {
        const place = files.dataset.field;
        const field = document.getElementById("q" + place);
        try {
          const { status, text } = await put(files, file);
          if (status === 409) return over();
          if (status !== 200) throw new Error(JSON.parse(text).error);
          say(field, []);
          touched.add(field.id);
          edited.add(field.id);
          const fresh = document.createElement("template");
          fresh.innerHTML = text;
          files.replaceWith(fresh.content);
          files = one(".files", field);
          for (const hint of all(".drop-hint", files)) hint.hidden = false;
          await keep();
          one("summary, input[type=file]", files).focus();
        } catch (error) {
          reset(files);
          if (error.name !== "AbortError") say(field, [error.message || form.dataset.uploadFailed]);
        }
      }
    }

    function reset(files) {
      one(".progress", files).hidden = true;
      one("input[type=file]", files).value = "";
    }

    // XMLHttpRequest, because fetch reports no upload progress.
    function put(files, file) {
      return new Promise((resolve, reject) => {
        const request = new XMLHttpRequest();
        const progress = one(".progress", files);
        progress.hidden = false;
        one("progress", progress).value = 0;
        request.open("POST", form.dataset.files + "/" + files.dataset.field);
        request.setRequestHeader("x-entreat-form", one("[name=_csrf]", form).value);
        request.setRequestHeader("x-entreat-file", encodeURIComponent(file.name));
        request.setRequestHeader("content-type", file.type || "application/octet-stream");
        request.upload.onprogress = (event) => { one("progress", progress).value = event.total ? 100 * event.loaded / event.total : 0; };
        request.onload = () => resolve({ status: request.status, text: request.responseText });
        request.onerror = () => reject(new Error(form.dataset.uploadFailed));
        request.onabort = () => reject(new DOMException("", "AbortError"));
        one(".stop", progress).onclick = () => request.abort();
        request.send(file);
      });
    }
  }

  // --- inbox ------------------------------------------------------------------------------
  const inbox = one("#inbox");
  if (inbox) {
    const ids = () => all(".card[data-id]", inbox).map((card) => card.dataset.id);
    const notify = one(".notify");
    if ("Notification" in window && Notification.permission === "default") {
      notify.hidden = false;
      notify.addEventListener("click", async () => {
        await Notification.requestPermission();
        notify.hidden = true;
      });
    }
    setInterval(async () => {
      try {
        const response = await fetch(inbox.dataset.list, { cache: "no-store" });
        if (!response.ok) return;
        const fresh = await response.text();
        if (fresh === inbox.dataset.last) return;
        inbox.dataset.last = fresh;
        const before = new Set(ids());
        const focused = document.activeElement.closest(".card");
        const held = focused && focused.dataset.id;
        inbox.innerHTML = fresh;
        localise(inbox);
        const again = held && one('.card[data-id="' + CSS.escape(held) + '"] a', inbox);
        if (again) again.focus();
        const now = ids();
        document.title = (now.length ? "(" + now.length + ") " : "") + inbox.dataset.title;
        const news = now.filter((id) => !before.has(id));
        if (news.length && "Notification" in window && Notification.permission === "granted" && document.hidden) {
          const card = one('.card[data-id="' + CSS.escape(news[0]) + '"] a', inbox);
          new Notification(inbox.dataset.new, { body: card.textContent, tag: news[0] });
        }
      } catch { /* Offline; retried at the next poll. */ }
    }, 3000);
  }

  // --- board ------------------------------------------------------------------------------
  const board = one("#board");
  if (board) {
    const controls = all(".filter select");
    for (const control of controls) control.addEventListener("change", () => control.form.requestSubmit());
    setInterval(async () => {
      if (document.hidden) return;
      try {
        const response = await fetch(board.dataset.list, { cache: "no-store" });
        // The session has ended, for example.
        if (response.status === 403) return location.reload();
        if (!response.ok) return;
        const fresh = await response.text();
        if (fresh === board.dataset.last) return;
        board.dataset.last = fresh;
        const focused = document.activeElement;
        const held = board.contains(focused) && focused.getAttribute("href");
        const counts = one(".counts", board).textContent;
        board.innerHTML = fresh;
        const again = held && one('a[href="' + CSS.escape(held) + '"]', board);
        if (again) again.focus();
        const now = one(".counts", board);
        // Whoever listens is told only what has changed.
        if (now.textContent === counts) now.removeAttribute("role");
        const open = Number(now.dataset.open);
        document.title = (open ? "(" + open + ") " : "") + board.dataset.title;
      } catch { /* Offline; retried at the next poll. */ }
    }, 5000);
  }
})();
