/** What our returners send to web services is what the services' makers publish: test/services/published-apis.ts has the rules. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Value } from "../../../src/wire/values.ts";
import { mustPass, sampleReturn } from "../../minion/returners/passing.ts";
import { startElasticFake } from "../../services/elasticsearch.ts";
import { elasticFaults, influxFaults, parsePoint, slackFaults, splunkFaults } from "../../services/published-apis.ts";
import { openSink } from "../../services/sink.ts";
import { plain, samples } from "./samples.ts";

const states = new Map<Value, Value>([
  [
    "file_|-a_|-/a_|-managed",
    new Map<Value, Value>([
      ["__id__", "a"],
      ["__sls__", "web"],
      ["__run_num__", 0],
      ["result", false],
      ["changes", new Map([["diff", 'x "y" \\']])],
    ]),
  ],
]);
/** Signs that mean something in one of the formats. */
const hostile = 'a,b=c d"e\\f\ng\r\n\u{1f9c2}\t\\';
const all = [
  ...samples,
  sampleReturn({ return: hostile, fun_args: [hostile] }),
  sampleReturn({ fun: "state.apply", return: states, retcode: 2, success: false }),
];

describe("requests of returners keep the published rules", { timeout: 120_000 }, () => {
  it("of Splunk's HTTP Event Collector", async () => {
    const sink = await openSink({ isSecure: true, answer: '{"text":"Success","code":0}' });
    try {
      // The path swallows the collector's fixed port.
      const place = { token: "B5A79AAD-D822-46CC-80D1-819F80D7BFB0", indexer: `127.0.0.1:${sink.port}/` };
      const forwarder = { ...place, sourcetype: "salt", index: "main", verify_ssl: false };
      for (const ret of all) await mustPass(["splunk"], { splunk_http_forwarder: forwarder }, ret);
      assert.deepEqual(sink.requests.flatMap(splunkFaults), []);
      assert.deepEqual(
        sink.requests.map(({ body }) => (JSON.parse(body) as { event: unknown }).event),
        all.map(plain),
      );
    } finally {
      await sink.close();
    }
  });

  it("of InfluxDB's line protocol, and say the same when they are read", async () => {
    const sink = await openSink({ status: 204, answer: "" });
    try {
      const options = { influxdb: { host: "127.0.0.1", port: sink.port, db: "salt db", user: "u", password: "p" } };
      for (const ret of all) await mustPass(["influxdb"], options, ret);
      assert.deepEqual(sink.requests.flatMap(influxFaults), []);
      for (const [index, { body }] of sink.requests.entries()) {
        const { measurement, tags, fields } = parsePoint(body.trimEnd());
        const { return: value, ...rest } = plain(all[index] ?? new Map()) as { readonly [member: string]: unknown };
        assert.equal(measurement, "returns");
        assert.deepEqual([...tags.keys()], ["fun", "id", "jid"]);
        assert.deepEqual([tags.get("fun"), tags.get("id"), tags.get("jid")], [rest.fun, rest.id, rest.jid]);
        assert.deepEqual(JSON.parse(fields.get("return") ?? ""), value);
        assert.deepEqual(JSON.parse(fields.get("full_ret") ?? ""), rest);
      }
    } finally {
      await sink.close();
    }
  });

  it("of Slack's incoming webhooks", async () => {
    const sink = await openSink();
    try {
      const webhook = `http://127.0.0.1:${sink.port}/T0/B0/x`;
      for (const showsTasks of [false, true])
        for (const ret of all)
          await mustPass(["slack_webhook"], { slack_webhook: { webhook, show_tasks: showsTasks } }, ret);
      assert.equal(sink.requests.length, 2 * all.length);
      assert.deepEqual(sink.requests.flatMap(slackFaults), []);
    } finally {
      await sink.close();
    }
  });

  it("of Elasticsearch's index, alias and document APIs, with types and without", async () => {
    for (const version of ["7.17.28", "8.15.0"]) {
      const fake = await startElasticFake({ version });
      try {
        const choices = { states_count: true, states_order_output: true, number_of_shards: 3 };
        const options = { elasticsearch: { host: `127.0.0.1:${fake.port}`, ...choices } };
        for (const ret of all) await mustPass(["elasticsearch"], options, ret);
        assert.ok(fake.requests.some(({ asked }) => asked.startsWith("POST ")));
        assert.deepEqual(fake.requests.flatMap(elasticFaults), []);
      } finally {
        await fake.close();
      }
    }
  });
});
