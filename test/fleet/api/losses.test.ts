/** The HTTP API and its master are killed under load: sessions stay valid, no job runs twice, and readers of events go on. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import { freePorts } from "../../../bench/free-ports.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { cliFile, startOurMaster } from "../our-master.ts";
import { ask, EventReader, type Load, type Posted, startPosting } from "./api-load.ts";
import { apiOf, isUp, login, until, upTimeoutMs } from "./api-process.ts";

const minionCount = 20;
const clientCount = 32;
const readerCount = 4;
const settleTimeoutMs = 60_000;

const settings = {
  auto_accept: true,
  external_auth: { auto: { ann: [".*", "@runner", "@wheel"] } },
  netapi_enable_clients: ["local", "local_async", "runner", "wheel"],
};

/** Names of posted jobs with the ids of the jobs that the master has of them. */
async function storedJobs(port: number, session: string): Promise<Map<string, string[]>> {
  const { text } = await ask(port, "/jobs", session);
  const [jobs = {}] = (JSON.parse(text) as { return: Record<string, { Function: string; Arguments: string[] }>[] })
    .return;
  const byName = new Map<string, string[]>();
  for (const [jid, job] of Object.entries(jobs)) {
    if (job.Function !== "test.echo") continue;
    const name = job.Arguments[0] ?? "";
    byName.set(name, [...(byName.get(name) ?? []), jid]);
  }
  return byName;
}

function answeredOf(posted: readonly Posted[]) {
  return posted.flatMap(({ outcome, ...rest }) => (outcome.kind === "answered" ? [{ ...rest, ...outcome }] : []));
}

/** Every answer is whole and names a job that ran once; a request without an answer ran once or not at all. */
async function checkJobs(port: number, session: string, { posted }: Load, fleet: Fleet): Promise<void> {
  const stored = await storedJobs(port, session);
  assert.deepEqual(
    [...stored].filter(([, jids]) => jids.length > 1),
    [],
    "jobs that ran twice",
  );
  for (const { name, jid, named } of answeredOf(posted)) {
    // Minions that are not connected again are answered as `false`. No answer is empty.
    assert.equal(named.length, minionCount, `${name} was answered for ${named.length} minions`);
    const [own = ""] = stored.get(name) ?? [];
    assert.ok(jid === "" ? own !== "" : own === jid, `${name}: ${jid} is stored as ${own}`);
  }
  const { returnsLost, jobsRepeated, publishesReplayed } = await fleet.untilSettled(settleTimeoutMs);
  assert.deepEqual([returnsLost, jobsRepeated, publishesReplayed], [0, 0, 0]);
}

/** Answers since the system is whole again. */
function answeredSince(load: Load, sinceMs: number): number {
  return answeredOf(load.posted).filter(({ startedMs }) => startedMs >= sinceMs).length;
}

/** Of all tests: a reader keeps the process alive, also after a test that fails. */
const opened: EventReader[] = [];

function openReaders(port: number, session: string): EventReader[] {
  const readers = Array.from({ length: readerCount }, () => new EventReader(port, session));
  opened.push(...readers);
  return readers;
}

function closeReaders(): void {
  for (const reader of opened.splice(0)) reader.close();
}

/** All events of jobs that were answered since then have reached each reader. */
async function untilRead(readers: readonly EventReader[], load: Load, sinceMs: number): Promise<void> {
  const jids = answeredOf(load.posted).flatMap(({ startedMs, jid }) => (startedMs >= sinceMs ? [jid] : []));
  for (const reader of readers) {
    const missing = () => {
      const seen = new Set(reader.tags);
      return jids.filter((jid) => !seen.has(`salt/job/${jid}/new`));
    };
    await until(`event of ${missing().length} of ${jids.length} jobs`, () => missing().length === 0, settleTimeoutMs);
    assert.equal(new Set(reader.ids).size, reader.ids.length, "an event came twice");
  }
}

async function openMinions(master: MasterProcess): Promise<Fleet> {
  const fleet = await openFleet({
    masterHost: "127.0.0.1",
    requestPort: master.requestPort,
    minionCount,
    returnTimeoutMs: [2_000, 3_000],
    // A restart of the master may take a minute on a slow machine.
    returnTries: 60,
    reconnectMs: [100, 300],
  });
  await fleet.untilUp(upTimeoutMs);
  return fleet;
}

describe("kill -9 of the HTTP API under load", { timeout: 400_000 }, () => {
  let master: MasterProcess;
  let fleet: Fleet;
  let port = 0;

  before(async () => {
    [port = 0] = await freePorts(1);
    const rest = { port, host: "127.0.0.1", disable_ssl: true };
    master = await startOurMaster(minionCount, { ...settings, rest_cherrypy: rest });
    fleet = await openMinions(master);
    await until("API", () => isUp(port));
  });
  after(async () => {
    closeReaders();
    await fleet?.close();
    await master?.remove();
  });

  it("is followed by a new start: sessions stay, no job is lost or runs twice, readers go on", async (context) => {
    const session = await login(port);
    const readers = openReaders(port, session);
    await until("stream", () => readers.every(({ opened }) => opened > 0));
    const load = startPosting(port, session, clientCount);
    await until("answers", () => answeredOf(load.posted).length >= 3 * clientCount);
    const pid = apiOf(master) ?? assert.fail("the master has no API");
    process.kill(pid, "SIGKILL");
    const killedMs = performance.now();
    await until("other API", () => isUp(port));
    const upMs = performance.now();
    assert.notEqual(apiOf(master), pid);
    await until("reader that came back", () => readers.every(({ opened }) => opened > 1));
    const backMs = performance.now();
    await until("answers", () => answeredSince(load, backMs) >= 3 * clientCount);
    await load.stop();
    await untilRead(readers, load, backMs);
    // A reader is told again if its new connection is lost, too.
    for (const reader of readers) assert.deepEqual(new Set(reader.gaps), new Set(["restart"]));
    closeReaders();
    await checkJobs(port, session, load, fleet);
    const cut = load.posted.filter(({ outcome }) => outcome.kind === "cut").length;
    const refused = load.posted.filter(({ outcome }) => outcome.kind === "refused");
    assert.deepEqual(refused, []);
    const { text } = await ask(port, "/", session, { client: "wheel", fun: "saltworks.metrics" });
    assert.match(text, /saltworks_api_restarts_total[^\]]*?1/);
    context.diagnostic(
      `${load.posted.length} requests, ${cut} cut, API away for ${Math.round(upMs - killedMs)} ms, answers after it ${answeredSince(load, upMs)}`,
    );
  });
});

describe("kill -9 of the master under the HTTP API", { timeout: 400_000 }, () => {
  let master: MasterProcess;
  let fleet: Fleet;
  let api: ChildProcess | undefined;
  let port = 0;

  before(async () => {
    [port = 0] = await freePorts(1);
    master = await startOurMaster(minionCount, settings);
    fleet = await openMinions(master);
    const conf = join(master.directory, "api-conf");
    mkdirSync(conf);
    cpSync(join(master.configDirectory, "master"), join(conf, "master"));
    const written = JSON.parse(readFileSync(join(conf, "master"), "utf8")) as object;
    const rest = { port, host: "127.0.0.1", disable_ssl: true };
    writeFileSync(join(conf, "master"), JSON.stringify({ ...written, rest_cherrypy: rest }));
    api = spawn(process.execPath, [cliFile, "api", "-c", conf], { stdio: "ignore" });
    await until("API", () => isUp(port));
  });
  after(async () => {
    closeReaders();
    api?.kill("SIGKILL");
    await fleet?.close();
    await master?.remove();
  });

  for (const end of ["kill", "stop"] as const)
    it(`(${end}): requests wait or get 503, streams and sessions go on`, async (context) => {
      const session = await login(port);
      const readers = openReaders(port, session);
      await until("stream", () => readers.every(({ opened }) => opened > 0));
      const load = startPosting(port, session, clientCount);
      await until("answers", () => answeredOf(load.posted).length >= 2 * clientCount);
      await master[end]();
      await until("refusal", () => load.posted.some(({ outcome }) => outcome.kind === "refused"));
      await master.restart();
      const upMs = performance.now();
      await until("gap", () => readers.every(({ gaps }) => gaps.length > 0));
      // Neither side reports when a minion's subscription is there again, but a job does that all answer.
      await until("whole answer", () =>
        answeredOf(load.posted).some(({ startedMs, minions }) => startedMs >= upMs && minions.length === minionCount),
      );
      const backMs = performance.now();
      await until("answers", () => answeredSince(load, backMs) >= 2 * clientCount);
      await load.stop();
      await untilRead(readers, load, backMs);
      // The API is told again if it meets the master while that starts.
      for (const reader of readers) assert.deepEqual([new Set(reader.gaps), reader.opened], [new Set(["master"]), 1]);
      closeReaders();
      const refused = load.posted.flatMap(({ outcome, ms }) =>
        outcome.kind === "refused" ? [{ ...outcome, ms }] : [],
      );
      for (const { status, retryAfter } of refused) assert.deepEqual([status, retryAfter], [503, "2"]);
      assert.deepEqual(
        load.posted.filter(({ outcome }) => outcome.kind === "cut"),
        [],
      );
      await checkJobs(port, session, load, fleet);
      const slowest = Math.max(...load.posted.map(({ ms }) => ms));
      context.diagnostic(
        `${load.posted.length} requests, ${refused.length} refused, the slowest took ${Math.round(slowest)} ms`,
      );
    });
});
