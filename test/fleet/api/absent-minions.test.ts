/** How soon the HTTP API answers `false` for a minion that has ended: docs/http-api.md, "Minions that are away". */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import { freePorts } from "../../../bench/free-ports.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { startOurMaster } from "../our-master.ts";
import { ask } from "./api-load.ts";

const upTimeoutMs = 60_000;
const pollMs = 50;
/** Seconds. The minion counts as connected while it is closed and asked, also on a slow machine. */
const times = { timeout: 2, gather_job_timeout: 3, presence_timeout: 15 };
/** Of a machine that does other things, too. */
const slackMs = 20_000;
const waitedMs = (times.timeout + times.gather_job_timeout) * 1_000;
const settings = {
  ...times,
  auto_accept: true,
  external_auth: { auto: { ann: [".*", "@runner"] } },
  netapi_enable_clients: ["local", "runner"],
};

describe("a minion that has ended", { timeout: 240_000 }, () => {
  let master: MasterProcess;
  const fleets: Fleet[] = [];
  let port = 0;
  let session = "";

  const open = async (idPrefix: string, firstIndex: number) => {
    const ports = { masterHost: "127.0.0.1", requestPort: master.requestPort };
    const ways = { returnTimeoutMs: [2_000, 3_000], returnTries: 30, reconnectMs: [100, 300] } as const;
    const fleet = await openFleet({ ...ports, ...ways, minionCount: 1, idPrefix, firstIndex });
    fleets.push(fleet);
    await fleet.untilUp(upTimeoutMs);
    return fleet;
  };
  const post = async (body: unknown) => {
    const startMs = performance.now();
    const { text } = await ask(port, "/", session, body);
    return { body: JSON.parse(text) as { return: unknown[] }, tookMs: performance.now() - startMs };
  };
  const ping = () => post({ client: "local", tgt: "*", fun: "test.ping" });
  const connected = async () => (await post({ client: "runner", fun: "manage.present" })).body.return[0];
  const until = async (isTrue: () => Promise<boolean>) => {
    const endMs = performance.now() + upTimeoutMs;
    while (!(await isTrue())) {
      assert.ok(performance.now() < endMs, `not in ${upTimeoutMs} ms`);
      await wait(pollMs);
    }
  };

  before(async () => {
    [port = 0] = await freePorts(1);
    master = await startOurMaster(2, { ...settings, rest_cherrypy: { port, host: "127.0.0.1", disable_ssl: true } });
    await until(async () => (await ask(port, "/", "").catch(() => undefined))?.status === 200);
    const { text } = await ask(port, "/login", "", { username: "ann", password: "any", eauth: "auto" });
    session = (JSON.parse(text) as { return: { token: string }[] }).return[0]?.token ?? assert.fail(text);
  });
  after(async () => {
    for (const fleet of fleets) await fleet.close();
    await master?.remove();
  });

  it("is awaited for timeout and gather_job_timeout while it counts as connected, and then not at all", async (context) => {
    await open("stays-", 0);
    const leaving = await open("leaves-", 1);
    const ids = { stays: "stays-0", leaves: "leaves-1" };
    assert.deepEqual((await ping()).body.return, [{ [ids.stays]: true, [ids.leaves]: true }]);
    await leaving.close();
    const expected = [{ [ids.stays]: true, [ids.leaves]: false }];
    const soon = await ping();
    const endedMs = performance.now();
    assert.deepEqual(soon.body.return, expected);
    assert.ok(soon.tookMs >= waitedMs - 100 && soon.tookMs < waitedMs + slackMs, `answered after ${soon.tookMs} ms`);
    await until(async () => JSON.stringify(await connected()) === JSON.stringify([ids.stays]));
    const gone = await ping();
    assert.deepEqual(gone.body.return, expected);
    assert.ok(gone.tookMs < waitedMs - 500, `answered after ${gone.tookMs} ms`);
    context.diagnostic(
      `false after ${Math.round(soon.tookMs)} ms; not connected ${Math.round(performance.now() - endedMs)} ms later: after ${Math.round(gone.tookMs)} ms`,
    );
  });
});
