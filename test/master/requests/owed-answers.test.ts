import assert from "node:assert/strict";
import { describe, it } from "node:test";
import pino from "pino";
import { OwedAnswers } from "../../../src/master/requests/owed-answers.ts";
import { namedConnection } from "../ports/named-connection.ts";

const client = namedConnection("client");

function openAnswers(): { answers: OwedAnswers; replies: string[] } {
  const replies: string[] = [];
  const reply = (_: unknown, frame: Uint8Array) => void replies.push(Buffer.from(frame).toString("latin1"));
  return { answers: new OwedAnswers({ reply, logger: pino({ level: "silent" }) }), replies };
}

describe("OwedAnswers", () => {
  it("sends a frame when it is there, and a shutdown waits for it", async () => {
    const { answers, replies } = openAnswers();
    let arrive: (frame: Uint8Array) => void = () => assert.fail("no request waits");
    const answer = new Promise<Uint8Array>((resolve) => {
      arrive = resolve;
    });
    answers.owe(client, answer);
    let isSettled = false;
    const settled = answers.settled().then(() => {
      isSettled = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([isSettled, replies], [false, []]);
    arrive(Buffer.from("done"));
    await settled;
    assert.deepEqual(replies, ["done"]);
  });

  it("answers a failure with Salt's words for it", async () => {
    const { answers, replies } = openAnswers();
    answers.owe(client, Promise.reject(new Error("lost")));
    await answers.settled();
    assert.equal(replies.length, 1);
    assert.match(replies[0] ?? "", /Some exception handling minion payload$/);
  });

  it("answers once, also if the failure comes after the answer", async () => {
    const { answers, replies } = openAnswers();
    answers.oweBy(client, (reply) => {
      reply(Buffer.from("first"));
      reply(Buffer.from("second"));
      return Promise.reject(new Error("afterwards"));
    });
    await answers.settled();
    assert.deepEqual(replies, ["first"]);
  });
});
