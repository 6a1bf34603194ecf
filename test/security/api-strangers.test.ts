/** 10,000 connections of strangers to a running HTTP API: sessions are served meanwhile, and the bounds hold. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { freePorts } from "../../bench/free-ports.ts";
import type { MasterProcess } from "../../bench/master-process.ts";
import { memoryOf } from "../../bench/memory.ts";
import { apiStrangerConnectionsMax } from "../../src/limits.ts";
import { ask } from "../fleet/api/api-load.ts";
import { apiOf, isUp, login, until } from "../fleet/api/api-process.ts";
import { startOurMaster } from "../fleet/our-master.ts";

const crowdFile = fileURLToPath(new URL("api-crowd.js", import.meta.url));
const strangers = 10_000;
/** A stranger's connection takes 20 to 60 KB. */
const growthBytesMax = apiStrangerConnectionsMax * 60_000;

type Connections = { readonly open: number; readonly strangers: number; readonly displaced: number };

describe("a crowd of strangers before the HTTP API", { timeout: 240_000 }, () => {
  let master: MasterProcess;
  let port = 0;
  before(async () => {
    [port = 0] = await freePorts(1);
    master = await startOurMaster(1, {
      external_auth: { auto: { ann: ["@runner", "@wheel"] } },
      netapi_enable_clients: ["wheel", "runner"],
      rest_cherrypy: { port, host: "127.0.0.1", disable_ssl: true, collect_stats: true },
    });
    await until("API", () => isUp(port));
  });
  after(async () => await master?.remove());

  it("is bounded, and sessions are served meanwhile", async () => {
    const session = await login(port);
    const api = apiOf(master) ?? assert.fail("the master has no API");
    const connections = async (): Promise<Connections> => {
      const { status, text } = await ask(port, "/stats", session);
      assert.equal(status, 200, text);
      return (JSON.parse(text) as { Saltworks: { connections: Connections } }).Saltworks.connections;
    };
    await connections();
    const atRest = memoryOf(api).rssBytes;
    const crowd = spawn(process.execPath, [crowdFile, String(port), String(strangers)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    try {
      const lines = createInterface(crowd.stdout);
      const told = once(lines, "line") as Promise<[string]>;
      let isGathered = false;
      const gathered = told.then(() => {
        isGathered = true;
      });
      let asked = 0;
      for (; !isGathered; asked += 1) assert.ok((await connections()).strangers <= apiStrangerConnectionsMax);
      await gathered;
      assert.ok(asked > 1, "asked while they came");
      assert.equal(Number((await told)[0]), strangers);
      const last = await connections();
      assert.ok(last.strangers <= apiStrangerConnectionsMax);
      assert.ok(last.displaced > 0);
      const keys = await ask(port, "/", session, { client: "wheel", fun: "key.list_all" });
      assert.equal(keys.status, 200, keys.text);
      const growth = memoryOf(api).rssBytes - atRest;
      assert.ok(growth < growthBytesMax, `${Math.round(growth / 1e6)} MB more`);
    } finally {
      crowd.stdin.end();
      await once(crowd, "exit");
    }
    await until("end of the strangers", async () => (await connections()).strangers <= 1);
    assert.equal(apiOf(master), api, "the same process");
  });
});
