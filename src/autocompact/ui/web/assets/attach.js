// Files for the next message, by button, paste and drop: each is uploaded at once, and sent with what is written.
"use strict";

const autocompactFiles = (() => {
  const $ = (id) => document.getElementById(id);
  const attached = () => [...$("attached").children];

  function detach(items) {
    for (const item of items) item.remove();
    $("attached").hidden = !attached().length;
    $("unattached").hidden = true;
  }

  async function attach(files) {
    $("unattached").hidden = true;
    for (const file of files) await upload(file, file.name || "pasted");
    $("field").focus();
  }

  async function upload(file, name) {
    const item = document.createElement("li"), back = document.createElement("button");
    item.append(name, back);
    back.type = "button";
    back.textContent = "×";
    back.setAttribute("aria-label", "Remove " + name);
    $("attached").append(item);
    $("attached").hidden = false;
    let why = "the server cannot be reached";
    try {
      const answer = await fetch("/attachments?name=" + encodeURIComponent(name), { method: "POST", body: file });
      const said = await answer.text();
      if (answer.ok) return void (item.dataset.id = said);
      why = said;
    } catch {}
    detach([item]);
    $("unattached").textContent = `Not attached: ${why}`;
    $("unattached").hidden = false;
  }

  document.addEventListener("paste", (event) => {
    const files = event.target.id === "field" && event.clipboardData ? [...event.clipboardData.files] : [];
    if (!files.length) return;
    event.preventDefault();
    attach(files);
  });
  const carriesFiles = (event) => event.dataTransfer && event.dataTransfer.types.includes("Files") && !document.querySelector(".q-dialog");
  document.addEventListener("dragover", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  for (const name of ["dragleave", "drop"]) document.addEventListener(name, () => document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    attach([...event.dataTransfer.files]);
  });
  document.addEventListener("change", (event) => {
    if (event.target.id !== "files") return;
    attach([...event.target.files]);
    event.target.value = "";
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("#attach")) $("files").click();
    const back = event.target.closest("#attached button");
    if (!back) return;
    detach([back.closest("li")]);
    $("field").focus();
  });

  return { ids: () => attached().map((item) => item.dataset.id || ""), clear: () => detach(attached()) };
})();
