import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { EventSubscriber } from "../../../src/transport/event-stream-client.ts";
import { RequestChannel } from "../../../src/transport/request-channel.ts";
import { splitEvent } from "../../../src/wire/event.ts";
import { mapField, textField } from "../../../src/wire/fields.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { encodeClearRequest } from "../../../src/wire/request.ts";
import type { Encodable, ValueMap } from "../../../src/wire/values.ts";
import { startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const timeoutMs = 30_000;
const requestVersion = 3;
const eventBytesMax = 64 * 1024;
/** Jobs whose arguments together exceed an event (16 MiB), but not the bound of our own command line (32 MiB). */
const wideJobs = 22;
const wideArgumentBytes = 1_000_000;

describe("what Salt's clients get of runners and wheel functions", () => {
  let master: MasterProcess;
  let channel: RequestChannel;
  before(async () => {
    master = await startOurMaster(1, { max_event_size: eventBytesMax });
    channel = new RequestChannel({ endpoint: `tcp://127.0.0.1:${master.requestPort}`, timeoutMs, tries: 1 });
  });
  after(async () => {
    channel.close();
    await master.remove();
  });

  async function ask(load: { readonly [name: string]: Encodable }): Promise<ValueMap> {
    const key = readFileSync(join(master.cacheDirectory, ".root_key"), "utf8");
    const request = encodeClearRequest({ ...load, key, user: "root" }, requestVersion);
    return decode(await channel.request(request, { timeoutMs })) as ValueMap;
  }

  /** As salt-api does: starts a call and waits for its last event. */
  async function lastEvent(fun: string, arg: readonly Encodable[]): Promise<ValueMap> {
    const heard = new Map<string, ValueMap>();
    let wake: () => void = () => undefined;
    const feed = await EventSubscriber.connect(join(master.socketDirectory, "master_event_pub.ipc"), {
      onEvent: (body) => {
        const { tag, data } = splitEvent(body);
        heard.set(tag, decode(data) as ValueMap);
        wake();
      },
      onClose: () => undefined,
    });
    try {
      const tag = `${textField(await ask({ cmd: "runner", fun, arg }), "tag")}/ret`;
      for (;;) {
        const event = heard.get(tag);
        if (event !== undefined) return event;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      feed.close();
    }
  }

  it("is whole above max_event_size: a long list, and a map of many values, for the master and beyond a megabyte", async () => {
    for (const count of [5_000, 60_000]) {
      const words = Array.from({ length: count }, (_, index) => `value number ${index}`);
      const returned = (await lastEvent("test.arg", [words])).get("return") as ValueMap;
      assert.deepEqual((returned.get("args") as string[][])[0], words);
      const many = new Map(words.map((word) => [word, word]));
      const mapped = (await lastEvent("test.arg", [many])).get("return") as ValueMap;
      assert.deepEqual((mapped.get("args") as ValueMap[])[0], many);
    }
  });

  it("has a value cut that is large by itself, as in Salt, and the rest whole", async () => {
    const kwargs = new Map<string, Encodable>([
      ["__kwarg__", true],
      ["small", "s"],
      ["large", "x".repeat(eventBytesMax)],
    ]);
    const cut = (await lastEvent("test.arg", [kwargs])).get("return") as ValueMap;
    assert.deepEqual(
      cut.get("kwargs"),
      new Map([
        ["small", "s"],
        ["large", "VALUE_TRIMMED"],
      ]),
    );
  });

  it("lists the newest jobs where an event cannot hold all of them", async () => {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const pem = publicKey.export({ type: "spki", format: "pem" });
    writeFileSync(join(master.pkiDirectory, "minions", "web1"), pem);
    const client = master.client();
    const jids: string[] = [];
    try {
      const argument = "x".repeat(wideArgumentBytes);
      for (let job = 0; job < wideJobs; job += 1) jids.push((await client.publish("web1", "test.arg", [argument])).jid);
    } finally {
      client.close();
    }
    const listed = (await lastEvent("jobs.list_jobs", [])).get("return");
    assert.ok(listed instanceof Map, String(listed));
    const wide = jids.filter((jid) => listed.has(jid));
    assert.deepEqual(wide, jids.slice(-wide.length), "the newest");
    assert.ok(wide.length > wideJobs / 2 && wide.length < wideJobs, `${wide.length} of ${wideJobs}`);
    // Over `max_event_size` each value that is large by itself is cut, as in Salt.
    assert.equal((listed.get(wide[0] ?? "") as ValueMap).get("Function"), "test.arg");
    const ours = await runCli(["run", "-c", master.configDirectory, "jobs.list_jobs", "--out=json"], timeoutMs);
    const whole = JSON.parse(ours.stdout) as Record<string, unknown>;
    assert.ok(
      jids.every((jid) => jid in whole),
      "our own clients get the whole list",
    );
  });

  it("holds none of the keys that our own clients ask for", async () => {
    const data = mapField(await ask({ cmd: "wheel", fun: "key.list_all" }), "data");
    assert.deepEqual([...(data?.keys() ?? [])], ["fun", "jid", "tag", "user", "return", "success", "_stamp"]);
    assert.equal((await lastEvent("test.arg", [])).has("notes"), false);
    const ours = await runCli(["run", "-c", master.configDirectory, "jobs.list_jobs", "limit=nonsense"], timeoutMs);
    assert.ok(!ours.stdout.includes("told"));
  });
});
