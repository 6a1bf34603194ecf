/** The operators' requests that prove their connection. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Identity } from "../../../src/master/operators/authorisation.ts";
import { Commands, type CommandsOptions } from "../../../src/master/operators/commands.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Caller } from "../../../src/workers/messages/deferred.ts";

const load = encode(new Map([["fun", "test.ping"]]), "bin");
const credential = { eauth: "file", username: "ann", password: "right" };
const callers: Caller[] = [
  { kind: "token", user: "root", token: "t" },
  { kind: "eauth", user: "root", credential },
];

/** An authorisation that knows the user or not, and permits nothing. */
function answers(identity: Identity | undefined) {
  const authorisation = {
    identify: async (_: Caller, address: string) => {
      assert.equal(address, "192.0.2.1");
      return identity;
    },
    mayPublish: async () => false,
    mayCall: () => "denied",
    makeToken: async (_: unknown, _seconds: unknown, address: string) => {
      assert.equal(address, "192.0.2.1");
      return identity && new Map([["token", "t"]]);
    },
    readToken: () => identity && new Map([["name", "ann"]]),
  };
  const options = {
    authorisation,
    direct: new Map(),
    keeping: { tracker: {}, deliveries: {} },
    publisher: { newJid: () => "20260101000000000000" },
    fire: () => undefined,
    logger: { warn: () => undefined, error: () => undefined },
  };
  const commands = new Commands(options as unknown as CommandsOptions);
  return async (work: Parameters<Commands["answer"]>[0]) => {
    let proofs = 0;
    const prove = () => {
      proofs += 1;
    };
    await commands.answer(work, () => undefined, { address: "192.0.2.1", prove });
    return proofs > 0;
  };
}

describe("an operator's connection", () => {
  const works = callers.flatMap((caller) => [
    { kind: "publish", item: 0, load, caller } as const,
    { kind: "command", item: 0, command: "runner", load, caller } as const,
  ]);
  const tokens = [
    { kind: "makeToken", item: 0, credential, expireSeconds: undefined } as const,
    { kind: "readToken", item: 0, token: "t" } as const,
  ];

  it("is proven by a good token and a good password of a user with grants, whatever they are for", async () => {
    for (const grants of [undefined, ["test.*"]]) {
      const proves = answers({ user: "ann", grants });
      for (const work of [...works, ...tokens]) assert.equal(await proves(work), true, work.kind);
    }
  });

  it("is not proven by the password or token of a user that nothing is granted to", async () => {
    const proves = answers({ user: "ann", grants: [] });
    for (const work of [...works, ...tokens]) assert.equal(await proves(work), false, work.kind);
  });

  it("is not proven by a wrong token or password", async () => {
    const proves = answers(undefined);
    for (const work of [...works, ...tokens]) assert.equal(await proves(work), false, work.kind);
  });
});
