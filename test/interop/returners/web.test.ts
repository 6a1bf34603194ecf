/** Our returners for web services beside Salt's: the same requests must arrive. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Value } from "../../../src/wire/values.ts";
import { mustPass, passTo, type Settings, sampleReturn } from "../../minion/returners/passing.ts";
import { openSink, type Sink } from "../../services/sink.ts";
import { openSaltsReturners } from "./salts-returner.ts";
import { plain, samples } from "./samples.ts";

const salts = await openSaltsReturners();

/** Passes the samples to Salt's returner and to ours, and compares the requests by `shown`. */
async function compare(
  name: string,
  sink: Sink,
  options: Settings,
  shown: (request: Sink["requests"][number]) => unknown,
): Promise<unknown[]> {
  await salts.pass(name, options, samples.map(plain));
  const theirs = sink.requests.splice(0).map(shown);
  for (const ret of samples) await mustPass([name], options, ret);
  assert.deepEqual(sink.requests.splice(0).map(shown), theirs);
  return theirs;
}

describe("returners of web services", { skip: salts.skip, timeout: 120_000 }, () => {
  it("splunk sends what Salt's sends", async () => {
    const sink = await openSink({ isSecure: true });
    try {
      // The path swallows the collector's fixed port.
      const indexer = `127.0.0.1:${sink.port}/`;
      const collector = { token: "t0k", indexer, sourcetype: "salt", index: "main", verify_ssl: false };
      const requests = await compare("splunk", sink, { splunk_http_forwarder: collector }, (request) => [
        request.method,
        request.headers.authorization,
        request.path,
        request.body.replace(/^\{"time": "\d+"/, '{"time": "0"'),
      ]);
      assert.equal(requests.length, samples.length);
      const strict = await passTo(["splunk"], { splunk_http_forwarder: { ...collector, verify_ssl: true } });
      assert.match(strict.failures.get("splunk") ?? "", /self-signed certificate/);
    } finally {
      await sink.close();
    }
  });

  it("influxdb writes the points of Salt's", async () => {
    const sink = await openSink({ status: 204 });
    try {
      const options = { influxdb: { host: "127.0.0.1", port: sink.port, db: "salt db", user: "u", password: "p" } };
      // Salt also asks for the version, and sends the return without the member that another returner might need.
      const shown = (request: Sink["requests"][number]) =>
        request.path.startsWith("/ping")
          ? []
          : [request.method, request.path, request.headers.authorization, request.body];
      await salts.pass("influxdb", options, samples.map(plain));
      const theirs = sink.requests
        .splice(0)
        .map(shown)
        .filter(({ length }) => length > 0);
      for (const ret of samples) await mustPass(["influxdb"], options, ret);
      assert.equal(theirs.length, samples.length);
      assert.deepEqual(
        sink.requests
          .splice(0)
          .map(shown)
          .map((request) => request.map(decoded)),
        theirs.map((request) => request.map(decoded)),
      );
    } finally {
      await sink.close();
    }
  });

  it("slack_webhook posts the message of Salt's, with states counted", async () => {
    const sink = await openSink();
    try {
      const states = new Map<Value, Value>(
        ["a", "b", "c"].map((name, index) => [
          `file_|-${name}_|-/${name}_|-managed`,
          new Map<Value, Value>([
            ["__id__", name],
            ["__sls__", "web"],
            ["__run_num__", 2 - index],
            ["result", index > 0],
            ["changes", index > 1 ? new Map([["diff", "x"]]) : new Map()],
            ["duration", 10.5],
          ]),
        ]),
      );
      // Maps are YAML in another style than Salt's: docs/returners.md.
      const all = [
        ...samples.filter((ret) => !(ret.get("return") instanceof Map)),
        sampleReturn({ return: states, fun: "state.apply", retcode: 2 }),
      ];
      const webhook = `http://127.0.0.1:${sink.port}/T0/B0/x`;
      for (const showsTasks of [false, true]) {
        const options = { slack_webhook: { webhook, author_icon: "http://icon", show_tasks: showsTasks } };
        await salts.pass("slack_webhook", options, all.map(plain));
        const theirs = sink.requests
          .splice(0)
          .map(({ path, body }) => [path, new URLSearchParams(body).get("payload")]);
        const grains = new Map<Value, Value>([
          ["id", "es1.example"],
          ["localhost", "es1"],
        ]);
        for (const ret of all)
          assert.deepEqual([...(await passTo(["slack_webhook"], options, ret, { grains })).failures], []);
        assert.equal(theirs.length, all.length);
        assert.deepEqual(
          sink.requests.splice(0).map(({ path, body }) => [path, new URLSearchParams(body).get("payload")]),
          theirs,
        );
      }
    } finally {
      await sink.close();
    }
  });

  it("http posts the return, and reports the answer of a failing server", async () => {
    const sink = await openSink({ status: 500, answer: "no room" });
    try {
      const options = { http: { url: `http://127.0.0.1:${sink.port}/in?x=1`, headers: { "X-Token": "t" } } };
      const { failures } = await passTo(["http"], options, sampleReturn());
      assert.equal(failures.get("http"), `127.0.0.1:${sink.port} answers 500: no room`);
      const [request] = sink.requests;
      assert.deepEqual([request?.method, request?.path, request?.headers["x-token"]], ["POST", "/in?x=1", "t"]);
      assert.deepEqual(JSON.parse(request?.body ?? ""), plain(sampleReturn()));
    } finally {
      await sink.close();
    }
  });
});

/** Python's and our client write blanks in an address differently. */
function decoded(text: unknown): unknown {
  return typeof text === "string" && text.startsWith("/write") ? text.replaceAll("+", "%20") : text;
}
