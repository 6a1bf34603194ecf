/** When an answer is over: what several parts of the API ask for one answer, and for answers that share a connection. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import { onceOver } from "../../../src/api/http/over.ts";

type Begun = { readonly socket: Socket; readonly response: ServerResponse };

/** Sends `count` requests in one write, and gives their answers, which are still open. */
async function pipelined(count: number) {
  const begun: Begun[] = [];
  const server = createServer();
  const all = new Promise<void>((resolve) => {
    server.on("request", ({ socket }, response: ServerResponse) => {
      begun.push({ socket, response });
      if (begun.length === count) resolve();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.on("error", () => undefined);
  client.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(count));
  await all;
  const close = () => {
    client.destroy();
    server.close();
  };
  return { begun, client, close };
}

describe("onceOver", () => {
  it("tells each listener of an answer once that it is written out, and one that comes later at once", async () => {
    const { begun, client, close } = await pipelined(1);
    const [{ socket, response } = assert.fail()] = begun;
    const told: string[] = [];
    for (const name of ["first", "second"]) onceOver(socket, response, () => told.push(name));
    client.resume();
    response.end("x");
    await once(response, "close");
    assert.deepEqual(told, ["first", "second"]);
    onceOver(socket, response, () => told.push("late"));
    assert.deepEqual(told, ["first", "second", "late"]);
    close();
    await once(socket, "close");
    assert.deepEqual(told, ["first", "second", "late"]);
  });

  it("tells listeners of all open answers that their connection has ended, those of an answer behind another one, too", async () => {
    const { begun, client, close } = await pipelined(3);
    const told: string[] = [];
    for (const [at, { socket, response }] of begun.entries())
      for (const name of ["a", "b"]) onceOver(socket, response, () => told.push(`${at}${name}`));
    const [{ socket } = assert.fail()] = begun;
    const hasEnded = once(socket, "close");
    client.destroy();
    await hasEnded;
    assert.deepEqual(told.sort(), ["0a", "0b", "1a", "1b", "2a", "2b"]);
    close();
  });
});
