import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, it } from "node:test";
import { ApiSite } from "./api-site.ts";

let site: ApiSite;

/** Sends bytes, and reads until the server closes the connection. */
async function exchange(bytes: string | Buffer): Promise<string> {
  const socket = connect(site.port, "127.0.0.1");
  let text = "";
  socket.on("data", (part) => {
    text += part.toString();
  });
  // The server may close while we still send.
  socket.on("error", () => undefined);
  socket.write(bytes);
  await once(socket, "close");
  return text;
}

describe("the HTTP API before bytes that are not a request", () => {
  afterEach(async () => await site.close());

  it("answers with one error in JSON and closes, and serves others meanwhile", async () => {
    site = await ApiSite.start({});
    const flood = `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${"b".repeat(20_000)}\r\n\r\n`;
    const cases = [
      ["nonsense\r\n\r\n", 400],
      // A client that speaks TLS to a port without it.
      [Buffer.from([0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x01, 0x03]), 400],
      ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400],
      [flood, 431],
    ] as const;
    for (const [bytes, status] of cases) {
      const text = await exchange(bytes);
      assert.match(text, new RegExp(`^HTTP/1.1 ${status} `));
      assert.match(text, new RegExp(`\\r\\n\\r\\n\\{"status":${status},"return":"[\\w ]+"\\}$`));
      assert.equal((await site.fetch("/")).status, 200);
    }
  });
});
