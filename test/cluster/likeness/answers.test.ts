/** Members that ask each other how they differ, over a NATS server. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { answerLikeness } from "../../../src/cluster/likeness/answers.ts";
import { askOwners, compareMembers } from "../../../src/cluster/likeness/ask.ts";
import {
  encodeAnswer,
  encodeQuestion,
  type LikenessQuestion,
  likenessSubject,
} from "../../../src/cluster/likeness/message.ts";
import {
  likenessFilesMax,
  likenessPageFilesMax,
  likenessPagesMax,
  likenessQuestionBytesMax,
  likenessQuestionsMax,
} from "../../../src/limits.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { type NatsClients, NatsServer } from "../nats.ts";

const skip = await natsServerSkip();
const clusterId = "test";

describe("members that ask each other", { skip, timeout: 60_000 }, () => {
  const server = new NatsServer();
  let clients: NatsClients;
  before(async () => {
    await server.start();
    clients = await server.connect();
  });
  after(() => server.close());

  const open = (member: string, answer?: (question: LikenessQuestion) => Promise<string>) =>
    answerLikeness({
      nats: clients.nats,
      clusterId,
      member,
      role: answer === undefined ? "witness" : "master",
      answer,
    });
  const compare = (...names: readonly string[]) => compareMembers(clients.nats, { clusterId, own: "m1", names });
  /** A master with one tree. A page holds one file. */
  const master = (files: readonly (readonly [string, string])[]) => async (question: LikenessQuestion) => {
    const digest = JSON.stringify(files);
    if (question.kind === "state") {
      const trees = [{ tree: "file_roots", environment: "base", digest }];
      return encodeAnswer({ version: "1", options: {}, trees });
    }
    assert.ok(question.kind === "paths" && question.digest === digest);
    const left = files.filter(([path]) => path > question.after);
    return encodeAnswer({ files: left.slice(0, 1), isLast: left.length <= 1 });
  };

  it("find a file that differs, page by page, and know a witness from a master", async () => {
    const same = ["a", "b", "c"].map((path) => [path, "1"] as const);
    const all = [open("m1", master(same)), open("m2", master([...same.slice(0, 2), ["c", "2"]])), open("w *.>")];
    const { members, differences, unasked } = await compare("m1", "m2", "w *.>");
    assert.deepEqual(
      members.map(({ role }) => role),
      ["master", "master", "witness"],
    );
    assert.deepEqual(
      differences.map(({ member, name, kind }) => `${member} ${name} ${kind}`),
      ["m2 c differs"],
    );
    assert.deepEqual(unasked, []);
    for (const one of all) one.close();
  });

  it("tell who does not answer, and who fails", async () => {
    const all = [
      open("m1", master([])),
      open("m2", async () => {
        throw new Error("the disk is gone");
      }),
    ];
    const { unasked } = await compare("m1", "m2", "m3");
    assert.deepEqual(
      unasked.map(({ member }) => member),
      ["m2", "m3"],
    );
    assert.match(unasked[0]?.why ?? "", /the disk is gone/);
    assert.match(unasked[1]?.why ?? "", /does not run/);
    for (const one of all) one.close();
  });

  it("tell the owners of jobs as a member with a lease sees them", async () => {
    const owner = (member: string, holdsLease: boolean | null, batchJobs: number) => ({
      ...{ member, holdsLease, batchJobs, waitingJobs: 0 },
    });
    const old = [owner("m1", false, 0), owner("m2", null, 0)];
    const newest = [owner("m1", false, 0), owner("m2", true, 3)];
    const master = { nats: clients.nats, clusterId, role: "master" as const };
    const first = answerLikeness({ ...master, member: "m1", owners: () => old });
    const owners = (...names: readonly string[]) => askOwners(clients.nats, { clusterId, names });
    assert.deepEqual(await owners("m1", "m2"), old);
    const all = [first, answerLikeness({ ...master, member: "m2", owners: () => newest }), open("w")];
    assert.deepEqual(await owners("w", "m1", "m2"), newest);
    assert.equal(await owners("w", "m3"), null);
    for (const one of all) one.close();
  });

  it("work on one question at a time, refuse more than a few, and ignore large ones", async () => {
    let running = 0;
    let most = 0;
    const release: (() => void)[] = [];
    const started = new Promise<void>((resolve) => {
      open("m4", async () => {
        running += 1;
        most = Math.max(most, running);
        resolve();
        if (release.length === 0) await new Promise<void>((go) => release.push(go));
        running -= 1;
        return encodeAnswer("done");
      });
    });
    const subject = likenessSubject(clusterId, "m4");
    const question = encodeQuestion({ kind: "state" });
    const ask = async (text: string, timeout = 30_000) =>
      (await clients.nats.request(subject, text, { timeout })).string();
    const first = ask(question);
    await started;
    const others = Array.from({ length: likenessQuestionsMax }, () => ask(question));
    assert.match(await (others.at(-1) ?? ""), /too many/);
    await assert.rejects(ask("x".repeat(likenessQuestionBytesMax + 1), 200), /timeout/i);
    assert.match(await ask("{}"), /does not know/);
    for (const go of release) go();
    const answers = await Promise.all([first, ...others.slice(0, -1)]);
    assert.ok(answers.every((answer) => answer.includes("done")));
    assert.equal(most, 1);
  });

  it("have pages enough for the largest tree", () => {
    assert.ok(likenessPagesMax * likenessPageFilesMax > likenessFilesMax);
  });
});
