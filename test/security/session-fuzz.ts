/** Sessions of ZMTP with changed bytes, sent to a `RouterServer` in this process, beside an honest client that must get every answer. */
import assert from "node:assert/strict";
import { opening, requestBytes } from "../../bench/fleet/storm/zmtp.ts";
import { commandFrame, partFrame } from "../../src/transport/zmtp/frames.ts";
import type { CloseReason } from "../../src/transport/zmtp/peer.ts";
import type { RouterServer } from "../../src/transport/zmtp/router-server.ts";
import { until } from "../transport/zmtp/publish/subscribing.ts";
import { openServer, RawClient } from "../transport/zmtp/raw-client.ts";
import type { Random } from "../wire/random.ts";

/** Connections that send changed sessions at the same time, from separate addresses. */
const linesCount = 8;
/** A later answer to the honest client counts as missing. */
const answerMsMax = 20_000;
/** The server's bytes before its first reply to a client of 3.0. */
const helloBytes = 64 + 2 + 41;
const messageBytesMax = 300_000;

/** Greeting and first frame of each release, and the framing of its messages. */
const greetings = [
  { hello: opening("REQ"), framing: "new" },
  { hello: Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 1, 3, 0, 0]), framing: "new" },
  { hello: Buffer.from([1, 0]), framing: "old" },
] as const;

export type FuzzResult = {
  readonly sessions: number;
  readonly answers: number;
  readonly closed: Partial<Record<CloseReason, number>>;
};

/** @param goesOn asked before each session. @throws AssertionError if an answer is missing or something is left behind */
export async function fuzzSessions(random: Random, goesOn: (sessions: number) => boolean): Promise<FuzzResult> {
  let echoing: RouterServer | undefined;
  const { server } = await openServer({
    messageBytesMax,
    mayBeLarge: () => random.below(2) === 0,
    bounds: { greetingTimeoutMs: 2_000, messageTimeoutMs: 2_000, overdueLookMs: 20, commandsPerMinuteMax: 4 },
    onMessage: (peer, parts) => void echoing?.reply(peer, parts.at(-1) ?? Buffer.alloc(0)),
  });
  echoing = server;
  const honest = await RawClient.open(server.port);
  honest.send(opening("REQ"));
  await honest.take(helloBytes);
  let sessions = 0;
  let isOver = false;
  const line = async (from: string) => {
    while (goesOn(sessions)) {
      sessions += 1;
      await sendChanged(random, server.port, from);
    }
  };
  const lines = Promise.all(Array.from({ length: linesCount }, (_, at) => line(`127.0.0.${at + 2}`)));
  const asking = askUntil(honest, () => isOver);
  try {
    await lines;
  } finally {
    isOver = true;
  }
  const answers = await asking;
  await until(() => server.connectionCount <= 1, "the server notices that they have gone");
  assert.deepEqual([server.heldBytes, server.unansweredCount, server.unreadBytes], [0, 0, 0], "nothing is left behind");
  honest.close();
  await server.close(0);
  const reached = Object.entries(server.closed).filter(([, count]) => count > 0);
  return { sessions, answers, closed: Object.fromEntries(reached) };
}

/** One request after the other. @returns the number of answers */
async function askUntil(client: RawClient, isOver: () => boolean): Promise<number> {
  for (let asked = 0; ; asked += 1) {
    if (isOver() && asked > 0) return asked;
    const question = Buffer.from(`honest ${String(asked).padStart(8, "0")}`);
    client.send(requestBytes(question));
    const late = setTimeout(() => client.close(), answerMsMax);
    const answer = await client.take(4 + question.length);
    clearTimeout(late);
    assert.deepEqual(answer, requestBytes(question));
    // Gives the fuzzers a turn.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function sendChanged(random: Random, port: number, from: string): Promise<void> {
  const client = await RawClient.open(port, from);
  const bytes = changed(random, session(random));
  for (let at = 0; at < bytes.length && !client.socket.destroyed; ) {
    const end = at + 1 + random.below(random.below(4) === 0 ? 8 : bytes.length);
    client.send(bytes.subarray(at, end));
    at = end;
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (random.below(3) === 0) client.socket.resetAndDestroy();
  else client.socket.end();
  await client.closed;
}

/** A valid session of a client: greeting, then messages and commands. */
function session(random: Random): Buffer {
  const { hello, framing } = greetings[random.below(greetings.length)] ?? greetings[0];
  const pieces: Buffer[] = [hello];
  for (let left = random.below(12); left > 0; left -= 1) {
    const kind = random.below(framing === "new" ? 4 : 3);
    const large = random.below(20) === 0 ? 200_000 : 600;
    const body = Buffer.alloc(random.below(large), random.below(256));
    if (kind === 3) pieces.push(commandFrame("PING", random.bytes(2 + random.below(20))));
    else if (kind === 2) pieces.push(partFrame(random.bytes(5), true, framing));
    else pieces.push(partFrame(Buffer.alloc(0), true, framing), partFrame(body, false, framing));
  }
  return Buffer.concat(pieces);
}

/** Up to four changes, most of them in greeting and heads. One session in sixteen stays unchanged. */
function changed(random: Random, whole: Buffer): Buffer {
  let bytes = Buffer.from(whole);
  for (let left = random.below(16) === 0 ? 0 : 1 + random.below(4); left > 0; left -= 1) {
    const at = random.below(random.below(2) === 0 ? Math.min(bytes.length, 120) : bytes.length);
    const length = random.below(24);
    switch (random.below(6)) {
      case 0:
        bytes = bytes.subarray(0, at);
        break;
      case 1:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
        break;
      case 2:
        bytes = Buffer.concat([bytes.subarray(0, at), random.bytes(length), bytes.subarray(at)]);
        break;
      case 3:
        bytes = Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]);
        break;
      case 4:
        if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
        break;
      default:
        if (at < bytes.length) bytes[at] = [0, 1, 2, 4, 0x7f, 0xff][random.below(6)] ?? 0;
    }
  }
  return bytes;
}
