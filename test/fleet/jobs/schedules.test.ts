/** A minion's scheduled jobs on the master: their returns need no publish and are stored as jobs, also after the minion's restart. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { EventWatch, type SeenEvent } from "../../interop/event-watch.ts";
import { Program } from "../../interop/program.ts";
import { cliFile, startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const id = "sched1";
const waitMs = 120_000;

describe("scheduled jobs of a minion", { timeout: 300_000 }, () => {
  let root: string;
  let master: Awaited<ReturnType<typeof startOurMaster>>;
  let watch: EventWatch;
  let minion: Program;

  function startMinion(): Program {
    return new Program(id, process.execPath, [cliFile, "minion", "-c", join(root, "etc")]);
  }

  before(async () => {
    root = mkdtempSync(join(tmpdir(), "sw-schedules-"));
    master = await startOurMaster(1, { auto_accept: true });
    const config = loadMasterConfig(master.configDirectory);
    watch = await EventWatch.open(config.sock_dir, waitMs);
    mkdirSync(join(root, "etc"));
    const settings = {
      id,
      master: "127.0.0.1",
      master_port: master.requestPort,
      publish_port: config.publish_port,
      root_dir: join(root, "root"),
      user: userInfo().username,
      enable_fqdns_grains: false,
      schedule: {
        configured: { function: "test.arg", args: ["a=b"], hours: 5, run_on_start: true, metadata: { from: "file" } },
      },
    };
    writeFileSync(join(root, "etc", "minion"), JSON.stringify(settings));
    minion = startMinion();
  });
  after(async () => {
    watch?.close();
    await minion?.stop();
    await master?.remove();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  });

  const returnOf = (schedule: string, butOf = ""): Promise<SeenEvent> =>
    watch.until(
      `a return of ${schedule}`,
      ({ tag, data }) => tag.endsWith(`/ret/${id}`) && data.get("schedule") === schedule && data.get("jid") !== butOf,
      waitMs,
    );

  async function prints(...words: readonly string[]): Promise<string> {
    const [command = "", ...rest] = words;
    const { stdout, stderr, exitCode } = await runCli([command, "-c", master.configDirectory, ...rest], waitMs);
    assert.equal(exitCode, 0, stderr);
    return stdout;
  }

  it("are jobs of the master's making, found by their id and in the list", async () => {
    const { tag, data } = await returnOf("configured");
    const jid = String(data.get("jid"));
    assert.equal(tag, `salt/job/${jid}/ret/${id}`);
    assert.match(jid, /^\d{20}$/);
    assert.deepEqual(data.get("fun_args"), ["a=b"]);
    assert.match(await prints("run", "jobs.lookup_jid", jid), /sched1:\n(.*\n)*.*a=b/);
    const listed = await prints("run", "--out=json", "jobs.list_jobs", "search_function=test.arg");
    const job = (JSON.parse(listed) as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[jid];
    assert.deepEqual([job?.Function, job?.Target, job?.Arguments], ["test.arg", id, ["a=b"]]);
  });

  it("that were added by an operator go on after the minion's restart", async () => {
    const timer = ["hours=5", "run_on_start=True"];
    const added = await prints("salt", id, "schedule.add", "added", "function=test.echo", "job_args=[kept]", ...timer);
    assert.match(added, /Added job: added to schedule\./);
    const first = await returnOf("added");
    await minion.stop();
    minion = startMinion();
    const second = await returnOf("added", String(first.data.get("jid")));
    assert.equal(second.data.get("return"), "kept");
    const listed = await prints("salt", id, "schedule.list");
    assert.match(listed, /added:\n\s+args:\n\s+- kept\n/);
    assert.match(listed, /saved: true/);
  });
});
