import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { keys, noTerminal, onTerminal } from "./on-terminal.ts";

describe("saltworks run salt.cmd on a terminal", { skip: noTerminal }, () => {
  it("ends at Ctrl-C with 130: a script does not take it for done", async () => {
    const folder = mkdtempSync(join(tmpdir(), "saltworks-run-"));
    const places = {
      root_dir: folder,
      pki_dir: `${folder}/pki`,
      cachedir: `${folder}/cache`,
      sock_dir: `${folder}/run`,
    };
    writeFileSync(join(folder, "master"), JSON.stringify(places));
    const words = ["run", "-c", folder, "salt.cmd", "cmd.shell", "echo it runs > /dev/tty; sleep 25"];
    const { shown, exitCode, isTyped } = await onTerminal(words, [["it runs", keys.interrupt]]);
    assert.ok(isTyped, shown);
    assert.match(shown, /\nExiting gracefully on Ctrl-c\n$/);
    assert.equal(exitCode, 130);
    rmSync(folder, { recursive: true });
  });
});
