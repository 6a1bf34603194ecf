import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isInstalled } from "../../../src/minion/returners/contract/library.ts";
import { Float, type Value } from "../../../src/wire/values.ts";
import { startKafkaFake } from "../../services/kafka.ts";
import { startMongoFake } from "../../services/mongodb.ts";
import { mustPass, passTo, sampleReturn } from "./passing.ts";

const kafka = { specifier: "@platformatic/kafka", install: "" };
const mongodb = { specifier: "mongodb", install: "" };
const noPort = 1;

describe("returner kafka", { skip: !isInstalled(kafka), timeout: 60_000 }, () => {
  it("sends the return to the topic, and waits for the leader of a new topic", async () => {
    const broker = await startKafkaFake({ looksUntilLeader: 2 });
    try {
      const options = { "returner.kafka.bootstrap": [`127.0.0.1:${broker.port}`], "returner.kafka.topic": "returns" };
      await mustPass(["kafka"], options, sampleReturn({ return: "é😀" }));
      assert.deepEqual(
        broker.messages.map(({ topic, value }) => [topic, JSON.parse(value).return]),
        [["returns", "é😀"]],
      );
      assert.ok(broker.looks() > 2);
      assert.match(broker.messages[0]?.key ?? "", /^\{'success': True, 'return': 'é😀', .*'id': 'es1\.example'\}$/);
    } finally {
      await broker.close();
    }
  });

  it("fails with the reason of the broker", async () => {
    const broker = await startKafkaFake({ batchBytesMax: 10_000 });
    const options = { "returner.kafka": { bootstrap: `127.0.0.1:${broker.port}`, topic: "returns" } };
    try {
      const large = await passTo(["kafka"], options, sampleReturn({ return: "x".repeat(20_000) }));
      assert.match(large.failures.get("kafka") ?? "", /larger than the max message size/);
      assert.deepEqual(broker.messages, []);
    } finally {
      await broker.close();
    }
    const absent = await passTo(["kafka"], options);
    assert.match(absent.failures.get("kafka") ?? "", new RegExp(`${broker.port}`));
    const bare = await passTo(["kafka"], { "returner.kafka.bootstrap": ["127.0.0.1"] });
    assert.equal(bare.failures.get("kafka"), "returner.kafka.topic is not set");
  });
});

describe("returner mongo", { skip: !isInstalled(mongodb), timeout: 60_000 }, () => {
  it("stores a document with the types of the return's numbers, and makes indexes if it is told to", async () => {
    const server = await startMongoFake();
    try {
      const numbers = new Map<Value, Value>([
        ["a.b", [1, 2 ** 40, 2n ** 62n, 0.5, new Float(1)]],
        ["10", null],
        ["9", Buffer.from("\xff", "latin1")],
      ]);
      const options = { mongo: { host: "127.0.0.1", port: server.port, db: "salt", indexes: true } };
      await mustPass(["mongo"], options, sampleReturn({ return: numbers, out: "nested" }));
      const [[collection, json = ""] = []] = server.inserted;
      assert.equal(collection, "salt.saltReturns");
      const value = `{"a-b":[{"$numberInt":"1"},{"$numberLong":"1099511627776"},{"$numberLong":"${2n ** 62n}"},{"$numberDouble":"0.5"},{"$numberDouble":"1.0"}],"10":null,"9":{"$binary":{"base64":"/w==","subType":"00"}}}`;
      const { return: stored, full_ret: full, ...members } = JSON.parse(json);
      assert.deepEqual(members, {
        minion: "es1.example",
        jid: "20261123200000000001",
        fun: "test.ping",
        out: "nested",
      });
      assert.deepEqual(stored, JSON.parse(value));
      assert.deepEqual(full.return, stored);
      assert.deepEqual(
        server.indexes.map(([place, index]) => [place, Object.keys(JSON.parse(index).key)]),
        [
          ["salt.saltReturns", ["minion"]],
          ["salt.saltReturns", ["jid"]],
          ["salt.jobs", ["jid"]],
          ["salt.events", ["tag"]],
        ],
      );
      const { length } = server.inserted;
      await mustPass(["mongo"], { "mongo.uri": `mongodb://127.0.0.1:${server.port}/other` });
      assert.deepEqual(
        server.inserted.slice(length).map(([place]) => place),
        ["other.saltReturns"],
      );
    } finally {
      await server.close();
    }
  });

  it("says what is wrong with its options, and that a number does not fit", async () => {
    const uri = "mongodb://127.0.0.1:1/salt";
    const why = async (mongo: Parameters<typeof passTo>[1], ret = sampleReturn()) =>
      (await passTo(["mongo"], mongo, ret)).failures.get("mongo");
    assert.equal(await why({ mongo: { host: "h", uri } }), "mongo.uri and mongo.host are both set");
    assert.equal(await why({ mongo: { uri: "mongodb://h/?w=1" } }), "mongo.uri names no database");
    assert.equal(await why({ mongo: { host: "h" } }), "mongo.db is not set");
    const server = await startMongoFake();
    try {
      const options = { mongo: { host: "127.0.0.1", port: server.port, db: "salt" } };
      assert.match((await why(options, sampleReturn({ return: 2n ** 63n }))) ?? "", /no integer as large as 9223/);
    } finally {
      await server.close();
    }
  });

  it("fails when no server is there", async () => {
    const uri = `mongodb://127.0.0.1:${noPort}/salt?serverSelectionTimeoutMS=200`;
    const { failures } = await passTo(["mongo"], { "mongo.uri": uri });
    assert.match(failures.get("mongo") ?? "", /ECONNREFUSED/);
  });
});
