/** A master with `event_return: [mysql, rawfile_json]` in return storms: the database is killed and swallows everything, and each event is there once. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import type { EventRow } from "../../../src/databases/contract/events.ts";
import { openEventSink } from "../../../src/databases/events/registry.ts";
import { openDatabase } from "../../../src/databases/registry.ts";
import { hasCode } from "../../../src/errors.ts";
import { BlackHole } from "../../databases/black-hole.ts";
import { MariadbServer, mariadbMissing } from "../../databases/mariadb.ts";
import { closeSite, readCounters, startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const minionCount = 100;
const upTimeoutMs = 120_000;
const stormTimeoutMs = 60_000;
const pollMs = 50;

type Shown = Readonly<Record<string, { readonly State: string; readonly Waiting: number; readonly Reason?: string }>>;

describe("events in MariaDB", { timeout: 400_000, skip: mariadbMissing() ?? false }, () => {
  let server: MariadbServer;
  const directory = mkdtempSync(join(tmpdir(), "sw-events-"));
  const file = join(directory, "events");

  before(async () => {
    server = await MariadbServer.start();
    const database = openDatabase(server.config(), "mysql");
    await database.createSchema();
    await database.close();
  });
  after(async () => {
    await server?.remove();
    rmSync(directory, { recursive: true });
  });

  describe("the table", () => {
    const rowOf = (serial: number, tag = "tag", data = `{"x": ${serial}}`): EventRow => ({ tag, data, serial });
    const stored = () => server.sql("SELECT tag, data, master_id FROM salt.salt_events ORDER BY id");
    const open = () => openEventSink(server.config(), "mysql");
    const firstTime = { mayBePresent: false };

    it("holds thousands of rows in their order, any text, and tags that are cut to its width", async () => {
      const sink = open();
      await sink.check();
      const many = Array.from({ length: 600 }, (_, index) => rowOf(index));
      assert.deepEqual(await sink.write(many, firstTime), { added: 600, present: 0 });
      assert.deepEqual(
        stored(),
        many.map(({ data }) => `tag\t${data}\tthe_master`),
      );
      server.sql("TRUNCATE salt.salt_events");
      const hostile = `{"a": "'); DROP TABLE salt_events; -- \u{1f9c2}"}`;
      await sink.write([rowOf(1, `${"x".repeat(254)}\u{1f9c2}yz`, hostile)], firstTime);
      assert.deepEqual(stored(), [`${"x".repeat(254)}\u{1f9c2}\t${hostile}\tthe_master`]);
      await sink.close();
    });

    it("gets rows of an attempt with an unknown end only if they are not there, equal ones as often as they came", async () => {
      server.sql("TRUNCATE salt.salt_events");
      const [sink, other] = [open(), open()];
      await sink.check();
      await sink.write([rowOf(1), rowOf(2)], firstTime);
      const unsure = [rowOf(2), rowOf(2), rowOf(3), rowOf(4)];
      await other.check();
      await other.write(unsure.slice(0, 3), firstTime);
      assert.deepEqual(await retried(), { added: 1, present: 3 });
      assert.deepEqual(
        server.sql("SELECT data FROM salt.salt_events ORDER BY id"),
        [1, 2, 2, 2, 3, 4].map((x) => `{"x": ${x}}`),
      );
      await Promise.all([sink.close(), other.close()]);

      /** The other connection has taken the writer's turn, so that the first attempt meets a closed one. */
      async function retried() {
        try {
          return await sink.write(unsure, { mayBePresent: true });
        } catch (error) {
          assert.ok(hasCode(error, "DATABASE_FAILED"));
          await sink.check();
          return await sink.write(unsure, { mayBePresent: true });
        }
      }
    });

    it("refuses a row that is too large, and none of its batch is there", async () => {
      server.sql("TRUNCATE salt.salt_events");
      const sink = open();
      await sink.check();
      const large = rowOf(2, "large", JSON.stringify("x".repeat(17 * 1024 * 1024)));
      await assert.rejects(sink.write([rowOf(1), large], firstTime), { code: "DATABASE_REFUSED" });
      assert.deepEqual(stored(), []);
      await sink.close();
    });
  });

  describe("of a master", () => {
    let hole: BlackHole;
    let master: MasterProcess;
    let fleet: Fleet;
    let published = 0;

    before(async () => {
      server.sql("DROP TABLE salt.salt_events");
      hole = await BlackHole.open(server.port);
      master = await startOurMaster(minionCount, {
        ...{ auto_accept: true, event_return: ["mysql", "rawfile_json"], "rawfile_json.filename": file },
        ...{ event_return_blacklist: ["salt/auth"], ...server.options(hole.port) },
      });
      fleet = await openFleet({
        ...{ masterHost: "127.0.0.1", requestPort: master.requestPort, minionCount },
        ...{ returnBytes: [100, 2_000], returnDelayMs: [0, 600], reconnectMs: [100, 500], isRecordingAcks: true },
      });
      await fleet.untilUp(upTimeoutMs);
    });
    after(async () => {
      hole?.close();
      await closeSite(fleet && [fleet], master);
    });

    async function until(what: string, isDone: () => Promise<boolean> | boolean): Promise<void> {
      const endMs = performance.now() + stormTimeoutMs;
      while (!(await isDone())) {
        assert.ok(performance.now() < endMs, `${what}\n${master.logTail()}`);
        await wait(pollMs);
      }
    }

    async function count(name: string): Promise<number> {
      const client = master.client();
      try {
        return (await readCounters(client)).main.get(`eventReturns.${name}`) ?? 0;
      } finally {
        client.close();
      }
    }

    async function publish(): Promise<string> {
      const client = master.client();
      const { jid } = await client.publish("*", "test.ping", []);
      client.close();
      published += 1;
      return jid;
    }

    async function untilReturned(): Promise<void> {
      const isDone = ({ returnsAcknowledged }: Fleet["counters"]) => returnsAcknowledged >= published * minionCount;
      await fleet.until("all returns are acknowledged", isDone, stormTimeoutMs);
    }

    const rowsOf = (jid: string) =>
      server.sql(`SELECT tag FROM salt.salt_events WHERE tag LIKE 'salt/job/${jid}/%' ORDER BY id`);

    /** The job's events are rows and lines, each once, the first before the others. */
    async function assertWhole(jid: string): Promise<void> {
      const lines = () =>
        readFileSync(file, "utf8")
          .split("\n")
          .filter((line) => line.includes(`"salt/job/${jid}/`));
      const returnsOf = (rows: readonly string[]) => rows.filter((tag) => tag.includes("/ret/"));
      await until(`the events of ${jid} are written`, () => returnsOf(rowsOf(jid)).length >= minionCount);
      const rows = rowsOf(jid);
      assert.equal(rows[0], `salt/job/${jid}/new`);
      assert.deepEqual([returnsOf(rows).length, new Set(rows).size], [minionCount, rows.length]);
      assert.deepEqual(
        lines().map((line) => (JSON.parse(line) as { tag: string }).tag),
        rows,
      );
    }

    async function run<Answer>(name: string): Promise<Answer> {
      const args = ["run", "-c", master.configDirectory, name, "--out", "json"];
      const { exitCode, stdout, stderr } = await runCli(args, stormTimeoutMs);
      assert.equal(exitCode, 0, stderr);
      assert.ok(!stdout.includes(server.password));
      return JSON.parse(stdout) as Answer;
    }

    const shown = async () => (await run<{ "Event-returns": Shown }>("jobs.cache_status"))["Event-returns"];

    it("wait for their table, and the operator reads how to make it", async () => {
      const jid = await publish();
      await untilReturned();
      await until("they wait", async () => (await count("mysql.waiting")) > minionCount);
      const { mysql } = await shown();
      assert.equal(mysql?.State, "failing");
      assert.match(mysql?.Reason ?? "", /jobs\.create_schema/);
      const made = await run<{ "Tables-made": string[] }>("jobs.create_schema");
      assert.deepEqual(made["Tables-made"], ["salt_events"]);
      await assertWhole(jid);
    });

    it("are rows and lines of JSON, each once", async () => {
      const jid = await publish();
      await untilReturned();
      await assertWhole(jid);
      assert.deepEqual(server.sql("SELECT tag FROM salt.salt_events WHERE tag = 'salt/auth'"), []);
      assert.ok((await count("filtered")) >= minionCount);
    });

    it("wait while the connection swallows everything, and nothing else does", async () => {
      const failures = await count("mysql.failures");
      hole.swallow();
      const jid = await publish();
      await untilReturned();
      assert.equal(fleet.counters.returnsLost, 0);
      await until("they wait", async () => (await count("mysql.waiting")) > minionCount);
      await until("the file has them", async () => (await count("rawfile_json.waiting")) === 0);
      await until("the database is given up", async () => (await count("mysql.failures")) > failures);
      const { mysql, rawfile_json: lines } = await shown();
      assert.deepEqual([mysql?.State, lines?.State], ["failing", "writing"]);
      assert.match(mysql?.Reason ?? "", /^mysql:\/\/.*no answer within/);
      assert.ok((mysql?.Waiting ?? 0) > minionCount);
      hole.pass();
      await assertWhole(jid);
    });

    it("are there once after the database was killed", async () => {
      const before = fleet.counters.returnsAcknowledged;
      const jid = await publish();
      await fleet.until("some returns", (counted) => counted.returnsAcknowledged > before + 10, stormTimeoutMs);
      await server.kill();
      await untilReturned();
      await until("they wait", async () => (await count("mysql.waiting")) > 0);
      await server.run();
      await assertWhole(jid);
      assert.equal((await count("mysql.dropped")) + (await count("dropped")) + (await count("lost")), 0);
    });

    it("are written when the master stops, with the password nowhere in its log", async () => {
      const jid = await publish();
      await untilReturned();
      assert.equal(await master.stop(), 0);
      await assertWhole(jid);
      assert.ok(!master.logTail().includes(server.password));
    });
  });
});
