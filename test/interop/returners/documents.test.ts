/** Our returners for Elasticsearch, MongoDB and Kafka beside Salt's: the same documents and messages must arrive. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Value } from "../../../src/wire/values.ts";
import { mustPass, type Settings, sampleReturn } from "../../minion/returners/passing.ts";
import { startElasticFake } from "../../services/elasticsearch.ts";
import { startKafkaFake } from "../../services/kafka.ts";
import { startMongoFake } from "../../services/mongodb.ts";
import { openSaltsReturners } from "./salts-returner.ts";
import { plain, samples } from "./samples.ts";

const salts = await openSaltsReturners();

const states = new Map<Value, Value>(
  // Three: with two, Salt's breaks off when it numbers them.
  ["a", "b", "c"].map((name, index) => [
    `file_|-${name}_|-/etc/${name}.conf_|-managed`,
    new Map<Value, Value>([
      ["__run_num__", index],
      ["result", index > 0],
      ["changes", new Map([["diff.txt", "x"]])],
    ]),
  ]),
);
const all = [
  ...samples,
  sampleReturn({ fun: "state.apply", return: states, retcode: 2 }),
  sampleReturn({ fun: "state.apply", return: ["no such sls"], retcode: 1 }),
  sampleReturn({ fun: "test.none", return: null }),
];

/** Passes the returns to Salt's returner and to ours, and compares what `take` then finds. */
async function compare(name: string, options: Settings, take: () => unknown[], returns = all): Promise<unknown[]> {
  await salts.pass(name, options, returns.map(plain));
  const theirs = take();
  for (const ret of returns) await mustPass([name], options, ret);
  assert.deepEqual(take(), theirs);
  return theirs;
}

describe("returners of documents and messages", { skip: salts.skip, timeout: 120_000 }, () => {
  for (const version of ["6.8.23", "7.17.28"]) {
    it(`elasticsearch asks release ${version} for what Salt's asks`, async () => {
      // Each gets a server of its own, because the second would find the indexes of the first.
      const asked: unknown[] = [];
      for (const pass of ["theirs", "ours"]) {
        const fake = await startElasticFake({ version });
        try {
          const isOrdered = version.startsWith("7");
          const single = { states_single_index: true, states_order_output: isOrdered };
          const choices = { index_date: true, number_of_shards: 2, ...single };
          const login = { username: "salt", password: "p:w" };
          const options = { elasticsearch: { hosts: [`127.0.0.1:${fake.port}`], ...choices, ...login } };
          if (pass === "theirs") await salts.pass("elasticsearch", options, all.map(plain));
          else for (const ret of all) await mustPass(["elasticsearch"], options, ret);
          const shown = fake.requests.map((request) =>
            JSON.stringify(request).replace(/"@timestamp":"\d{4}-[^"]+\+00:00"/, '"@timestamp":"TIME"'),
          );
          asked.push(shown);
          assert.equal(shown.filter((request) => request.includes("POST")).length, all.length - 1);
        } finally {
          await fake.close();
        }
      }
      assert.deepEqual(asked[1], asked[0]);
    });
  }

  it("elasticsearch counts states as Salt's does", async () => {
    const fake = await startElasticFake();
    try {
      const options = { elasticsearch: { host: `127.0.0.1:${fake.port}`, states_count: true } };
      const counts = () =>
        fake.requests.splice(0).flatMap(({ body }) => (body as { counts?: object } | undefined)?.counts ?? []);
      const counted = await compare("elasticsearch", options, counts, all.slice(-3, -2));
      assert.deepEqual(counted, [{ succeeded: 2, failed: 1 }]);
    } finally {
      await fake.close();
    }
  });

  it("mongo stores the documents of Salt's and makes the same indexes", async () => {
    const server = await startMongoFake();
    try {
      const options = { "mongo.host": "127.0.0.1", "mongo.port": server.port, "mongo.db": "salt" };
      const take = () => server.inserted.splice(0);
      assert.equal((await compare("mongo", options, take)).length, all.length);
      await compare(
        "mongo",
        { ...options, "mongo.indexes": true },
        () => server.indexes.splice(0),
        samples.slice(0, 1),
      );
      const uri = { mongo: { uri: `mongodb://127.0.0.1:${server.port}/by_uri` } };
      take();
      await compare("mongo", uri, take, samples.slice(0, 1));
    } finally {
      await server.close();
    }
  });

  it("kafka sends the messages of Salt's", async () => {
    const broker = await startKafkaFake();
    try {
      const options = { "returner.kafka.bootstrap": [`127.0.0.1:${broker.port}`], "returner.kafka.topic": "returns" };
      const sent = await compare("kafka", options, () => broker.messages.splice(0));
      assert.equal(sent.length, all.length);
    } finally {
      await broker.close();
    }
  });
});
