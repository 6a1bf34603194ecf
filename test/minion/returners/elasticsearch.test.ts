import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Value, ValueMap } from "../../../src/wire/values.ts";
import { type ElasticFake, startElasticFake } from "../../services/elasticsearch.ts";
import { mustPass, passTo, sampleReturn } from "./passing.ts";

const noPort = 1;

function stateOf(name: string, number: number, result: boolean | null): [Value, Value] {
  const members: [Value, Value][] = [
    ["__run_num__", number],
    ["result", result],
    ["changes", new Map()],
  ];
  return [`file_|-${name}_|-/${name}_|-managed`, new Map(members)];
}

async function withFake(options: Parameters<typeof startElasticFake>[0], body: (fake: ElasticFake) => Promise<void>) {
  const fake = await startElasticFake(options);
  try {
    await body(fake);
  } finally {
    await fake.close();
  }
}

const askedOf = (fake: ElasticFake) => fake.requests.splice(0).map(({ asked }) => asked);

describe("returner elasticsearch", { timeout: 60_000 }, () => {
  it("makes index and alias once, and stores a document for each return", async () => {
    await withFake({}, async (fake) => {
      const options = { elasticsearch: { host: `127.0.0.1:${fake.port}`, number_of_shards: 3, doc_type: "job" } };
      await mustPass(["elasticsearch"], options, sampleReturn({ return: new Map([["a.b", [1.5]]]) }));
      const [look, index, alias, document] = fake.requests.splice(0);
      assert.deepEqual([look?.asked, index?.asked], ["HEAD /salt-test_ping", "PUT /salt-test_ping-v1"]);
      assert.deepEqual(index?.body, { settings: { number_of_shards: 3, number_of_replicas: 0 } });
      assert.equal(alias?.asked, "PUT /salt-test_ping-v1/_alias/salt-test_ping");
      assert.equal(document?.asked, "POST /salt-test_ping/job");
      const { "@timestamp": time, ...members } = (document?.body ?? {}) as Record<string, unknown>;
      assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
      assert.deepEqual(members, {
        ...{ success: true, retcode: 0, minion: "es1.example", fun: "test.ping", jid: "20261123200000000001" },
        ...{ counts: {}, data: { _orig_key: "a.b", a_b: [1.5] } },
      });
      await mustPass(["elasticsearch"], options);
      assert.deepEqual(askedOf(fake), ["HEAD /salt-test_ping", "POST /salt-test_ping/job"]);
    });
  });

  it("writes no capitals in an index's name, which the server refuses", async () => {
    await withFake({}, async (fake) => {
      const options = { elasticsearch: { host: `127.0.0.1:${fake.port}` } };
      await mustPass(["elasticsearch"], options, sampleReturn({ fun: "myMod.getAll" }));
      const { asked, body } = fake.requests.at(-1) ?? assert.fail();
      assert.equal(asked, "POST /salt-mymod_getall/default");
      assert.equal((body as { fun: string }).fun, "myMod.getAll");
    });
  });

  it("stores without a type in releases that have none, and in an index that another minion makes meanwhile", async () => {
    await withFake({ version: "8.15.0", isRaced: true }, async (fake) => {
      await mustPass(["elasticsearch"], { elasticsearch: { hosts: [`http://127.0.0.1:${fake.port}/`] } });
      assert.equal(askedOf(fake).at(-1), "POST /salt-test_ping/_doc");
    });
  });

  it("goes on to the next server of a list, with the login of the address", async () => {
    await withFake({}, async (fake) => {
      const hosts = [`127.0.0.1:${noPort}`, `http://u%20ser:p%40ss@127.0.0.1:${fake.port}`];
      const { logged } = await mustPass(["elasticsearch"], { elasticsearch: { hosts, username: "x", password: "y" } });
      assert.match(logged.join("\n"), /passed over: 127\.0\.0\.1:1: .*ECONNREFUSED/);
      assert.equal(fake.requests[0]?.login, `Basic ${Buffer.from("u ser:p@ss").toString("base64")}`);
    });
  });

  it("numbers and counts states, in one index of all functions that run states", async () => {
    await withFake({}, async (fake) => {
      const choices = { states_order_output: true, states_count: true, states_single_index: true };
      const options = { elasticsearch: { host: `127.0.0.1:${fake.port}`, ...choices } };
      const states: ValueMap = new Map([stateOf("a", 2, null), stateOf("b", 0, false), stateOf("c", 10, true)]);
      for (let number = 3; number < 10; number += 1) states.set(...stateOf(`s${number}`, number, true));
      await mustPass(["elasticsearch"], options, sampleReturn({ fun: "state.sls", return: states, retcode: 2 }));
      const stored = fake.requests.splice(0).at(-1);
      assert.equal(stored?.asked, "POST /salt-state_apply-ordered/default");
      const { counts, data, success } = (stored?.body ?? {}) as {
        counts: object;
        data: Record<string, object>;
        success: boolean;
      };
      assert.deepEqual([counts, success], [{ succeeded: 9, failed: 1 }, false]);
      const first = Object.keys(data).sort()[0] ?? "";
      assert.equal(first, "00_|-file_|-b_|-/b_|-managed");
      assert.equal((data[first] as { _func: string })._func, "file.managed");
      await mustPass(["elasticsearch"], options, sampleReturn({ fun: "state.apply", return: ["no sls"], retcode: 1 }));
      const failed = fake.requests.splice(0).at(-1);
      assert.equal(failed?.asked, "POST /salt-state_apply/default");
      const { counts: none, data: why } = (failed?.body ?? {}) as { counts: object; data: object };
      assert.deepEqual([none, why], [{ succeeded: 0, failed: 1 }, { return: ["no sls"] }]);
    });
  });

  it("leaves out what functions_blacklist names, and returns of None", async () => {
    await withFake({}, async (fake) => {
      const options = { elasticsearch: { host: `127.0.0.1:${fake.port}`, functions_blacklist: ["test.ping"] } };
      const { logged } = await mustPass(["elasticsearch"], options);
      assert.match(logged.join("\n"), /functions_blacklist has test\.ping/);
      await mustPass(["elasticsearch"], options, sampleReturn({ fun: "test.none", return: null }));
      assert.deepEqual(askedOf(fake), []);
    });
  });

  it("fails with the reason of the server", async () => {
    await withFake({ refusal: "failed to parse field [data]" }, async (fake) => {
      const refused = await passTo(["elasticsearch"], { elasticsearch: { host: `127.0.0.1:${fake.port}` } });
      const why = refused.failures.get("elasticsearch") ?? "";
      assert.match(why, new RegExp(`^127\\.0\\.0\\.1:${fake.port} answers 400: .*failed to parse field`));
    });
    const absent = await passTo(["elasticsearch"], { elasticsearch: { host: `127.0.0.1:${noPort}` } });
    assert.match(absent.failures.get("elasticsearch") ?? "", /^127\.0\.0\.1:1: .*ECONNREFUSED/);
    const unbuilt = await passTo(["elasticsearch"], { elasticsearch: { proxies: [{ http: "http://proxy" }] } });
    assert.equal(unbuilt.failures.get("elasticsearch"), "elasticsearch.proxies is not built");
    const wrong = await passTo(["elasticsearch"], { elasticsearch: { host: "http://[" } });
    assert.match(wrong.failures.get("elasticsearch") ?? "", /is not the address of a server$/);
  });
});
