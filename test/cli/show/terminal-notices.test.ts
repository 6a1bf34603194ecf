/** Notices of the real programs: a terminal shows them beside Salt's own words, a pipe does not. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { generateKeyPair } from "../../../src/crypto/pem.ts";
import { startOurMaster } from "../../fleet/our-master.ts";
import { runCli } from "../../fleet/run-cli.ts";
import { keys, noTerminal, onTerminal } from "../terminal/on-terminal.ts";

const commandTimeoutMs = 60_000;
const siteWithinSeconds = 7_200;
const timePattern = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/;

/** Most commands wait for an absent minion, so they run side by side. */
const testsAtOnce = 3;

describe("notices at a terminal", { skip: noTerminal, concurrency: testsAtOnce }, () => {
  let master: MasterProcess;

  before(async () => {
    master = await startOurMaster(1, { deliver_within: siteWithinSeconds, timeout: 1, gather_job_timeout: 1 });
    const { publicPem } = await generateKeyPair(2_048);
    writeFileSync(join(master.pkiDirectory, "minions", "away"), publicPem);
  });
  after(() => master?.remove());

  async function sideBySide<Words>(commands: readonly Words[], check: (words: Words) => Promise<void>): Promise<void> {
    await Promise.all(commands.map(check));
  }

  const inPipe = (...[command = "", ...words]: readonly string[]) =>
    runCli([command, "-c", master.configDirectory, ...words], commandTimeoutMs);

  async function shown(...[command = "", ...words]: readonly string[]): Promise<string> {
    const result = await onTerminal([command, "-c", master.configDirectory, ...words], []);
    assert.ok(result.isOver, result.shown);
    return result.shown;
  }

  /** The master's deadline of the waiting job with this function, to the second. */
  async function deadline(fun: string): Promise<Date> {
    const { stdout } = await inPipe("run", "jobs.pending", "--out=json");
    const pending = Object.values(JSON.parse(stdout) as Record<string, { Function: string; "Waits-until": string }>);
    const [job, ...more] = pending.filter((each) => each.Function === fun);
    assert.ok(job !== undefined && more.length === 0, stdout);
    const parts = /^(\d+), (\w+) (\d+) ([\d:]+)/.exec(job["Waits-until"]) ?? [];
    return new Date(`${parts[2]} ${parts[3]} ${parts[1]} ${parts[4]} UTC`);
  }

  it("say until when a job waits for a minion that is away, by the master's clock", async () => {
    const commands: [string, ...string[]][] = [
      ["test.sleep"],
      ["test.echo", "--deliver-within", "90s"],
      ["test.true", "--async"],
    ];
    await sideBySide(commands, async ([fun, ...words]) => {
      const text = await shown("salt", "away", fun, ...words);
      const who = words.includes("--async") ? "Minions that are away get" : "away: a minion that is away gets";
      assert.match(text, new RegExp(`${who} the job if .* back before ${timePattern.source}\\.`), text);
      const told = new Date(timePattern.exec(text.slice(text.indexOf("back before")))?.[0] ?? "");
      assert.equal(told.getTime(), (await deadline(fun)).getTime(), text);
    });
  });

  it("of a job that waits by the site's option are for terminals, those of --deliver-within for scripts too", async () => {
    const words = ["salt", "away", "cmd.run", "true"];
    const [bySite, asked] = await Promise.all([inPipe(...words), inPipe(...words, "--deliver-within=1h")]);
    assert.ok(!bySite.stderr.includes("back before"));
    assert.match(asked.stderr, /^away: a minion/m);
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
    await sideBySide(words, async (asked) => {
      const [text, { stderr }] = await Promise.all([shown(...asked), inPipe(...asked)]);
      assert.match(text, /^No minion with an accepted key matches\. .*--explain.* shows/m, asked.join(" "));
      assert.doesNotMatch(stderr, /accepted key/, asked.join(" "));
      const hint = `saltworks salt -c ${master.configDirectory} TARGET --explain shows`;
      if (asked[0] === "cp") assert.ok(text.includes(hint), text);
    });
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
      const login = ["--eauth", "pam", "--username", "ann", "--password", "x"];
      const commands: [string, ...string[]][] = [
        ["cp", "web1", "/etc/hostname", "/tmp"],
        ["top", "--once"],
        ["key", ...login, "-L"],
        ["key", ...login, "-T", "-L"],
        ["run", ...login, "-T", "jobs.list_jobs"],
      ];
      await sideBySide(commands, async ([command, ...words]) => {
        const { shown: text } = await onTerminal([command, "-c", folder, ...words], [], { HOME: folder });
        const place = `event sockets in ${join(folder, "sock")}, requests at tcp://127.0.0.1:1.`;
        assert.ok(text.includes(`According to ${join(folder, "master")}: ${place}`), text);
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("name our own command beside Salt's where a minion may still return, with the configuration that was given", async () => {
    const later = `saltworks run -c ${master.configDirectory} jobs.lookup_jid `;
    const words = [
      ["salt", "away", "test.ping"],
      ["cp", "away", join(master.configDirectory, "master"), "/nowhere"],
    ];
    const following = sideBySide(words, async (asked) => {
      const [{ stdout, stderr }, text] = await Promise.all([inPipe(...asked), shown(...asked)]);
      assert.match(stdout, /salt-run jobs\.lookup_jid \d{20}/, "Salt's words, for scripts");
      assert.ok(!(stdout + stderr).includes("Late returns"), stderr);
      assert.match(text, /salt-run jobs\.lookup_jid \d{20}/);
      assert.ok(text.includes(`\nLate returns: ${later}`), text);
    });
    const command = ["salt", "-c", master.configDirectory, "-v", "-t", "30", "away", "test.ping"];
    const leaving = onTerminal(command, [["Executing job with jid", keys.interrupt]]);
    const [left] = await Promise.all([leaving, following]);
    assert.ok(left.isOver && left.shown.includes(`\nLate returns: ${later}`), left.shown);
  });

  it("of functions that are not there name commands with the configuration that was given", async () => {
    const { stdout } = await inPipe("run", "manage.safe_accept", "web1");
    assert.ok(stdout.includes(`\`saltworks key -c ${master.configDirectory} -f ID\``), stdout);
  });
});
