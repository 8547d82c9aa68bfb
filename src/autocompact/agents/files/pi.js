// Written by `autocompact install pi`; `autocompact uninstall pi` removes it.
// Where pi would ask its model for a summary, autocompact gives its own. Whatever fails here, pi goes on with its own.
import { spawn } from "node:child_process";

const COMMAND = @COMMAND@;
const MILLISECONDS = 30000;

function asked(question, signal) {
  return new Promise((resolve) => {
    const [program, ...given] = COMMAND;
    const child = spawn(program, given, { stdio: ["pipe", "pipe", "ignore"], signal, timeout: MILLISECONDS, windowsHide: true });
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

export default function (pi) {
  pi.on("session_before_compact", async (event, ctx) => {
    try {
      const { firstKeptEntryId, tokensBefore, previousSummary } = event.preparation;
      const answer = await asked(
        {
          hook_event_name: "session_before_compact",
          session_id: ctx.sessionManager.getSessionId(),
          cwd: ctx.cwd,
          entries: event.branchEntries,
          first_kept: firstKeptEntryId,
          tokens_before: tokensBefore,
          window: ctx.model?.contextWindow ?? 0,
          previous: previousSummary ?? "",
          focus: event.customInstructions ?? "",
          trigger: event.reason ?? "",
          transcript_path: ctx.sessionManager.getSessionFile() ?? "",
        },
        event.signal,
      );
      if (!answer.summary || event.signal?.aborted) return undefined;
      return { compaction: { summary: answer.summary, firstKeptEntryId, tokensBefore, details: { by: "autocompact" } } };
    } catch {
      return undefined;
    }
  });
}
