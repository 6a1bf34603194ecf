/** What an operator at a terminal is told beside Salt's own words, by the real programs: scripts get none of it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { MasterProcess } from "../../bench/master-process.ts";
import { generateKeyPair } from "../../src/crypto/pem.ts";
import { startOurMaster } from "../fleet/our-master.ts";
import { runCli } from "../fleet/run-cli.ts";
import { keys, noTerminal, onTerminal } from "./on-terminal.ts";

const commandTimeoutMs = 60_000;
const siteWithinSeconds = 7_200;
const timePattern = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/;

describe("notices at a terminal", { skip: noTerminal }, () => {
  let master: MasterProcess;

  before(async () => {
    master = await startOurMaster(1, { deliver_within: siteWithinSeconds, timeout: 1, gather_job_timeout: 1 });
    const { publicPem } = await generateKeyPair(2_048);
    writeFileSync(join(master.pkiDirectory, "minions", "away"), publicPem);
  });
  after(() => master?.remove());

  const inPipe = (...[command = "", ...words]: readonly string[]) =>
    runCli([command, "-c", master.configDirectory, ...words], commandTimeoutMs);

  async function shown(...[command = "", ...words]: readonly string[]): Promise<string> {
    const result = await onTerminal([command, "-c", master.configDirectory, ...words], []);
    assert.ok(result.isOver, result.shown);
    return result.shown;
  }

  /** The master's deadline of the newest job that waits, to the second. */
  async function deadline(): Promise<Date> {
    const { stdout } = await inPipe("run", "jobs.pending", "--out=json");
    const pending = JSON.parse(stdout) as Record<string, { "Waits-until": string }>;
    const newest = Object.keys(pending).sort().at(-1) ?? "";
    const parts = /^(\d+), (\w+) (\d+) ([\d:]+)/.exec(pending[newest]?.["Waits-until"] ?? "") ?? [];
    return new Date(`${parts[2]} ${parts[3]} ${parts[1]} ${parts[4]} UTC`);
  }

  it("say until when a job waits for a minion that is away, by the master's clock", async () => {
    for (const words of [[], ["--deliver-within", "90s"], ["--async"]]) {
      const text = await shown("salt", "away", "cmd.run", "true", ...words);
      const who = words.includes("--async") ? "Minions that are away get" : "away: a minion that is away gets";
      assert.match(text, new RegExp(`${who} the job if .* back before ${timePattern.source}\\.`), text);
      const told = new Date(timePattern.exec(text.slice(text.indexOf("back before")))?.[0] ?? "");
      assert.equal(told.getTime(), (await deadline()).getTime(), text);
    }
  });

  it("of a job that waits by the site's option are for terminals, those of --deliver-within for scripts too", async () => {
    assert.ok(!(await inPipe("salt", "away", "cmd.run", "true")).stderr.includes("back before"));
    assert.match((await inPipe("salt", "away", "cmd.run", "true", "--deliver-within=1h")).stderr, /^away: a minion/m);
  });

  it("are none where nothing waits", async () => {
    assert.ok(!(await shown("salt", "away", "test.ping")).includes("back before"), "asked for this moment only");
  });

  it("say why a target matches no minion, for batches, subsets and copies too", async () => {
    const words = [
      ["salt", "nobody*", "test.ping"],
      ["salt", "nobody*", "test.ping", "-b", "1"],
      ["salt", "nobody*", "test.ping", "-b", "1", "--async"],
      ["salt", "nobody*", "test.ping", "--subset", "1"],
      ["cp", "nobody*", join(master.configDirectory, "master"), "/nowhere"],
    ];
    for (const asked of words) {
      const text = await shown(...asked);
      assert.match(text, /^No minion with an accepted key matches\. .*--explain.* shows/m, asked.join(" "));
      assert.doesNotMatch((await inPipe(...asked)).stderr, /accepted key/, asked.join(" "));
    }
    const copied = await shown("cp", "nobody*", join(master.configDirectory, "master"), "/nowhere");
    assert.ok(copied.includes(`saltworks salt -c ${master.configDirectory} TARGET --explain shows`), copied);
  });

  it("say where a master was looked for that is not there", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sw-"));
    try {
      const lines = {
        root_dir: folder,
        sock_dir: join(folder, "sock"),
        ret_port: 1,
        pki_dir: folder,
        cachedir: folder,
      };
      writeFileSync(join(folder, "master"), JSON.stringify(lines));
      for (const [command, ...words] of [
        ["cp", "web1", "/etc/hostname", "/tmp"],
        ["top", "--once"],
      ]) {
        const { shown: text } = await onTerminal([command ?? "", "-c", folder, ...words], [], { HOME: folder });
        assert.ok(
          text.includes(`Looked for with ${join(folder, "master")}: event sockets in ${join(folder, "sock")}`),
          text,
        );
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("name our own command beside Salt's where a minion may still return, with the configuration that was given", async () => {
    const later = `saltworks run -c ${master.configDirectory} jobs.lookup_jid `;
    for (const words of [
      ["salt", "away", "test.ping"],
      ["cp", "away", join(master.configDirectory, "master"), "/nowhere"],
    ]) {
      const { stdout, stderr } = await inPipe(...words);
      assert.match(stdout, /salt-run jobs\.lookup_jid \d{20}/, "Salt's words, for scripts");
      assert.ok(!(stdout + stderr).includes("Late returns"), stderr);
      const text = await shown(...words);
      assert.match(text, /salt-run jobs\.lookup_jid \d{20}/);
      assert.ok(text.includes(`\nLate returns: ${later}`), text);
    }
    const command = ["salt", "-c", master.configDirectory, "-v", "-t", "30", "away", "test.ping"];
    const left = await onTerminal(command, [["Executing job with jid", keys.interrupt]]);
    assert.ok(left.isOver && left.shown.includes(`\nLate returns: ${later}`), left.shown);
  });

  it("of functions that are not there name commands with the configuration that was given", async () => {
    const { stdout } = await inPipe("run", "manage.safe_accept", "web1");
    assert.ok(stdout.includes(`\`saltworks key -c ${master.configDirectory} -f ID\``), stdout);
  });
});
