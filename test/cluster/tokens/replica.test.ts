/** Tokens of a cluster: what one member makes or removes is so on the others, also on one that was away. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pino from "pino";
import { TokenReplica } from "../../../src/cluster/tokens/replica.ts";
import { secretBoxWith } from "../../../src/store/secrets/sealed.ts";
import { Tokens } from "../../../src/store/secrets/tokens.ts";
import { untilSo } from "../../fleet/cluster/members.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { NatsServer } from "../nats.ts";

const skip = await natsServerSkip();
const logger = pino({ level: "silent" });

describe("tokens of a cluster", { skip, timeout: 120_000 }, () => {
  const server = new NatsServer();
  const temporary = temporaryDirectories();
  const box = secretBoxWith(randomBytes(32));
  const opened: TokenReplica[] = [];
  let bucketCount = 0;
  let bucket = "";

  before(() => server.start());
  after(() => server.close());
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((replica) => replica.close()));
  });

  function newBucket(): void {
    bucketCount += 1;
    bucket = `tokens_${bucketCount}`;
  }
  async function follow(tokens: Tokens, seal = box): Promise<TokenReplica> {
    const clients = await server.connect();
    const replica = await TokenReplica.open({ clients, bucket, replicas: 1, box: seal, tokens, logger });
    opened.push(replica);
    return replica;
  }
  const member = () => new Tokens(join(temporary(), "tokens"), "sha256", true);
  const makeIn = (tokens: Tokens, seconds = 600) => {
    const fields = new Map<string, string | number>([
      ["name", "ada"],
      ["eauth", "pam"],
      ["expire", inSeconds(seconds)],
    ]);
    return String(tokens.make(fields).get("token"));
  };
  const inSeconds = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;
  const isGood = (tokens: Tokens, token: string) => tokens.read(token, Date.now())?.get("name") === "ada";

  it("are good on all when one has made them, and on none when another one has removed them", async () => {
    newBucket();
    const [first, second] = [member(), member()];
    await follow(first);
    await follow(second);
    const token = makeIn(first);
    await untilSo("the second has it", () => isGood(second, token));
    assert.ok(second.remove(token));
    await untilSo("the first has lost it", () => !isGood(first, token));
  });

  it("that a member had before, or missed while it was away, are good and gone as on the others", async () => {
    newBucket();
    const [first, second] = [member(), member()];
    const [early, removed] = [makeIn(first), makeIn(first)];
    await follow(first);
    const away = await follow(second);
    await untilSo("the second has both", () => isGood(second, early) && isGood(second, removed));
    await away.close();
    assert.ok(first.remove(removed));
    const late = makeIn(first);
    await untilSo("sent", () => opened[0]?.waitingCount === 0);
    assert.ok(isGood(second, removed));
    await follow(second);
    await untilSo(
      "the second is in step",
      () => isGood(second, late) && isGood(second, early) && !isGood(second, removed),
    );
    assert.ok(!isGood(first, removed), "it does not come back from the member that was away");
  });

  it("that a member removes while it shares none stay removed, here and on the others", async () => {
    newBucket();
    const [first, second] = [member(), member()];
    await follow(first);
    const away = await follow(second);
    const token = makeIn(first);
    await untilSo("the second has it", () => isGood(second, token));
    await away.close();
    assert.ok(second.remove(token));
    await follow(second);
    await untilSo("the first has lost it", () => !isGood(first, token));
    assert.ok(!isGood(second, token));
    await second.sweep(Date.now() + 3_600_000);
    assert.equal([...second.files()].length, 0, "the mark of a removal ends with the token");
  });

  it("that were never sent are forgotten with their removal", async () => {
    newBucket();
    const tokens = member();
    const replica = await follow(tokens);
    await server.kill();
    makeIn(tokens);
    for (let count = 0; count < 5; count += 1) assert.ok(tokens.remove(makeIn(tokens)));
    assert.ok(replica.waitingCount <= 2, `${replica.waitingCount} wait`);
    await server.start();
    await untilSo("sent", () => replica.waitingCount === 0);
  });

  it("that have expired, lie under another name, or are sealed under another secret are not taken", async () => {
    newBucket();
    const [first, second, stranger] = [member(), member(), member()];
    await follow(first);
    const taking = await follow(second);
    await follow(stranger, secretBoxWith(randomBytes(32)));
    const over = makeIn(stranger);
    const token = makeIn(first);
    await untilSo("the second has the good one", () => isGood(second, token));
    await untilSo("the second has refused the stranger's", () => taking.counters.failed === 1);
    assert.ok(!isGood(second, over));
    const [file] = [...first.files()];
    assert.ok(file?.bytes !== undefined);
    const other = `${"0".repeat(64)}.token`;
    assert.equal(second.receive({ ...file, name: other }, Date.now()), false);
    assert.equal(member().receive(file, file.endMs + 1), false);
    assert.equal(second.receive({ ...file, name: `../${file.name}` }, Date.now()), false);
  });

  it("wait for a server that is away, and are sent once it is back", async () => {
    newBucket();
    const [first, directory] = [member(), join(temporary(), "tokens")];
    const second = new Tokens(directory, "sha256", true);
    const sending = await follow(first);
    await follow(second);
    await server.kill();
    const token = makeIn(first);
    assert.ok(isGood(first, token));
    await pause(0);
    assert.equal(sending.waitingCount, 1);
    await server.start();
    await untilSo("the second has it", () => isGood(second, token));
    assert.deepEqual(readdirSync(directory).length, 1);
  });
});
