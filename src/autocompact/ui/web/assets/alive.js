// Says within two seconds that the server does not answer. A server that ended closes the page's websocket, which NiceGUI tells; one
// that hangs (stopped, swapped out, behind a network that is gone) leaves it open, so it is asked again and again while
// the page is seen.
"use strict";

(() => {
  const TICK = 100; // ms
  const REST = 400; // ms between an answer and the next question
  const PATIENCE = 1200; // ms without an answer: more than what a busy server takes at times

  const notice = Object.assign(document.createElement("div"), { id: "silent", className: "nicegui-error-popup", role: "status" });
  for (const words of ["The server does not answer.", "Waiting for it…"]) notice.append(Object.assign(document.createElement("span"), { textContent: words }));

  let asking = false;
  let silent = 0; // ms since a question that has had no answer
  let rested = 0;
  let last = performance.now();

  async function ask() {
    asking = true;
    try {
      const answer = await fetch("/alive", { cache: "no-store" });
      if (answer.status < 500) silent = 0;
    } catch {}
    asking = false;
    rested = 0;
  }

  setInterval(() => {
    const now = performance.now();
    // a computer that slept, or a page that was busy, is no reason to blame the server
    const passed = Math.min(now - last, 2 * TICK);
    last = now;
    if (document.hidden || !(window.socket && socket.connected)) silent = rested = 0;
    else if (asking || silent) silent += passed;
    if (!asking && (rested += passed) >= REST) ask();
    const hidden = String(silent < PATIENCE);
    if (notice.ariaHidden !== hidden) notice.ariaHidden = hidden;
  }, TICK);

  document.addEventListener("DOMContentLoaded", () => {
    document.body.append(notice);
    document.getElementById("popup").role = "status"; // NiceGUI's own notice is not said to who does not see it
  });
})();
