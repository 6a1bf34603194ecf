import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { isInstalled } from "../../../src/minion/returners/contract/library.ts";
import type { Value } from "../../../src/wire/values.ts";
import { mustPass, passTo, sampleReturn } from "./passing.ts";

/** A server that keeps what a client sends, and answers by `answer`. */
async function listen(greeting: string, answer: (text: string) => string) {
  let received = "";
  const server = createServer((socket: Socket) => {
    socket.write(greeting);
    socket.on("data", (bytes) => {
      received += bytes;
      const text = answer(String(bytes));
      if (text !== "") socket.write(text);
    });
    socket.on("error", () => undefined);
    socket.on("end", () => socket.end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, received: () => received, close: () => server.close() };
}

const loads = new Map<Value, Value>([
  ["1-min", 0.5],
  ["list", [1, "2.5"]],
]);

describe("returner carbon", { timeout: 60_000 }, () => {
  it("sends each number with its path", async () => {
    const server = await listen("", () => "");
    try {
      const options = { carbon: { host: "127.0.0.1", port: server.port } };
      await mustPass(["carbon"], options, sampleReturn({ fun: "status.loadavg", return: loads }));
      const base = "status.loadavg.es1_example";
      assert.deepEqual(
        server
          .received()
          .replaceAll(/ \d+\n/g, " T\n")
          .split("\n"),
        [`${base}.1-min 0.5 T`, `${base}.list.1 1.0 T`, `${base}.list.2.5 2.5 T`, ""],
      );
      const wrong = await passTo(["carbon"], options, sampleReturn({ return: "text" }));
      assert.equal(wrong.failures.get("carbon"), "test.ping.es1_example is not a number: text");
      await mustPass(
        ["carbon"],
        { carbon: { ...options.carbon, skip_on_error: true } },
        sampleReturn({ return: "text" }),
      );
      const pickle = await passTo(["carbon"], { carbon: { ...options.carbon, mode: "pickle" } });
      assert.match(pickle.failures.get("carbon") ?? "", /pickle is not built/);
    } finally {
      server.close();
    }
  });
});

describe("returner smtp", { skip: !isInstalled({ specifier: "nodemailer", install: "" }), timeout: 60_000 }, () => {
  it("sends Salt's text, and a line break of a value begins no header", async () => {
    let isData = false;
    const server = await listen("220 sink\r\n", (text) => {
      if (isData) {
        if (!text.endsWith("\r\n.\r\n")) return "";
        isData = false;
        return "250 kept\r\n";
      }
      if (text.startsWith("DATA")) {
        isData = true;
        return "354 go on\r\n";
      }
      return text.startsWith("QUIT") ? "221 bye\r\n" : "250 ok\r\n";
    });
    try {
      const smtp = { host: "127.0.0.1", port: server.port, from: "me@example.net", to: "a@example.com, b@example.com" };
      const options = { smtp: { ...smtp, subject: "Salt {{ fun }}:", fields: "id,return" } };
      await mustPass(["smtp"], options, sampleReturn({ return: "x\r\nBcc: evil@example.com", fun_args: ["a"] }));
      const text = server.received();
      assert.match(text, /MAIL FROM:<me@example.net>.*\r\nRCPT TO:<a@example.com>\r\nRCPT TO:<b@example.com>\r\n/);
      const [head = "", body = ""] = text.slice(text.indexOf("From: ")).split("\r\n\r\n");
      const headers = head.replace(/^Date: .*$/m, "Date: D").split("\r\n");
      assert.deepEqual(headers, [
        "From: me@example.net",
        "To: a@example.com,  b@example.com",
        "Date: D",
        "Subject: Salt test.ping: es1.example x Bcc: evil@example.com",
      ]);
      assert.match(body, /^id: es1.example\r\nfunction: test.ping\r\nfunction args: \['a'\]\r\njid: 2026/);
      const refused = await passTo(["smtp"], { smtp: { ...smtp, gpgowner: "root" } });
      assert.equal(refused.failures.get("smtp"), "smtp.gpgowner is not built");
    } finally {
      server.close();
    }
  });
});

const nats = { specifier: "@nats-io/transport-node", install: "" };

describe("returner nats", { skip: !isInstalled(nats), timeout: 60_000 }, () => {
  it("publishes the return on the subject, and ends when the server has it", async () => {
    const info = {
      server_id: "S",
      version: "2.10.0",
      go: "",
      host: "127.0.0.1",
      port: 1,
      headers: true,
      max_payload: 1e6,
    };
    const server = await listen(`INFO ${JSON.stringify({ ...info, proto: 1 })}\r\n`, (text) =>
      "PONG\r\n".repeat(text.split("PING\r\n").length - 1),
    );
    try {
      const options = { nats: { servers: [`127.0.0.1:${server.port}`], subject: "returns.es1" } };
      await mustPass(["nats"], options);
      const [, bytes, json] = /PUB returns\.es1 (\d+)\r\n(.*)\r\n/.exec(server.received()) ?? [];
      assert.equal(Number(bytes), json?.length);
      assert.equal(JSON.parse(json ?? "").jid, "20261123200000000001");
    } finally {
      server.close();
    }
    const absent = await passTo(["nats"], { "nats.servers": `127.0.0.1:${server.port}` });
    assert.match(absent.failures.get("nats") ?? "", /refused/i);
  });
});
