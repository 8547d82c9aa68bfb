// Written by `autocompact install opencode`; `autocompact uninstall opencode` removes it.
// When OpenCode's model has written the summary of a compaction, autocompact adds what it lost. Whatever fails here, the summary
// stays as it was written.
import { spawn } from "node:child_process";

const COMMAND = @COMMAND@;
const MILLISECONDS = 30000;

function asked(question) {
  return new Promise((resolve) => {
    const [program, ...given] = COMMAND;
    const child = spawn(program, given, { stdio: ["pipe", "pipe", "ignore"], timeout: MILLISECONDS, windowsHide: true });
    const pieces = [];
    child.on("error", () => resolve({}));
    child.stdin.on("error", () => {});
    child.stdout.on("data", (piece) => pieces.push(piece));
    child.on("close", () => {
      try {
        resolve(JSON.parse(Buffer.concat(pieces).toString("utf8") || "{}"));
      } catch {
        resolve({});
      }
    });
    child.stdin.end(JSON.stringify(question));
  });
}

export const Autocompact = async ({ client, directory }) => {
  const compacting = new Set();
  return {
    "experimental.session.compacting": async ({ sessionID }) => {
      compacting.add(sessionID);
    },
    // a compaction that was stopped or failed writes no summary: else every later answer would have the whole session fetched
    event: async ({ event }) => {
      if (event.type === "session.idle" || event.type === "session.error") compacting.delete(event.properties?.sessionID);
    },
    "experimental.text.complete": async ({ sessionID, messageID }, output) => {
      if (!compacting.has(sessionID)) return;
      try {
        const { data } = await client.session.messages({ path: { id: sessionID } });
        const summary = data.find((each) => each.info.id === messageID);
        if (summary?.info.summary !== true) return;
        compacting.delete(sessionID);
        const request = data.find((each) => each.info.id === summary.info.parentID);
        const { added } = await asked({
          hook_event_name: "compacting",
          session_id: sessionID,
          info: { directory },
          messages: data.filter((each) => each.info.id !== messageID),
          summary: output.text,
          trigger: request?.parts.some((part) => part.type === "compaction" && part.auto) ? "auto" : "manual",
        });
        if (added) output.text = `${output.text.trimEnd()}\n\n${added}`;
      } catch {
        // the summary stays as it is
      }
    },
  };
};
