import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { UnreadAnswers } from "../../../src/api/admission/unread-answers.ts";
import { ApiSite } from "../api-site.ts";
import { open } from "./raw-client.ts";

/** A connection as `UnreadAnswers` sees it. */
function socketOf(closed: Socket[]): Socket {
  const socket = new EventEmitter() as Socket;
  const destroy = () => {
    closed.push(Object.assign(socket, { destroyed: true }));
    return socket;
  };
  return Object.assign(socket, { destroyed: false, destroy });
}

function answerOf(writableLength: number): ServerResponse {
  return Object.assign(new EventEmitter(), { writableLength }) as unknown as ServerResponse;
}

describe("answers that are not read", () => {
  it("over the bound of all are closed: the connections with the most, until the rest is within it", async () => {
    const answers = new UnreadAnswers(100);
    const closed: Socket[] = [];
    const [first, second, third] = [socketOf(closed), socketOf(closed), socketOf(closed)];
    answers.watch(first, answerOf(30));
    answers.watch(second, answerOf(25));
    answers.watch(third, answerOf(45));
    await turn();
    assert.deepEqual(closed, []);
    // Two of one connection count together.
    const late = answerOf(25);
    answers.watch(second, late);
    await turn();
    assert.deepEqual(closed, [second]);
    second.emit("close");
    assert.deepEqual(answers.counters, { open: 2, closed: 1 });
  });

  it("count until they are over, also behind another answer of their connection", async () => {
    let isHanging = false;
    const token = { start: 1, expire: 4e9, name: "ann", eauth: "auto", token: "f" };
    const site = await ApiSite.start({ mk_token: () => (isHanging ? undefined : token) });
    const id = await site.login();
    isHanging = true;
    const { answers } = site.api.admission;
    const right = JSON.stringify({ username: "ann", password: "right", eauth: "auto" });
    const login = `POST /login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${right.length}\r\n\r\n${right}`;
    const client = await open(site.port);
    client.write(`${login}GET /stats HTTP/1.1\r\nHost: a\r\nX-Auth-Token: ${id}\r\n\r\n`);
    const endMs = performance.now() + 10_000;
    while (site.api.counters.requests < 3 && performance.now() < endMs) await turn();
    while (answers.counters.open !== 1 && performance.now() < endMs) await turn();
    assert.equal(answers.counters.open, 1);
    client.resetAndDestroy();
    while (answers.counters.open > 0 && performance.now() < endMs) await turn();
    assert.equal(answers.counters.open, 0);
    await site.close();
  });
});
