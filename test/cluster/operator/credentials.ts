/** Makes what `nsc` makes for an operator: signed claims of an account and a user, and the file with a user's credentials. */
import { randomUUID } from "node:crypto";
import type { nkeys } from "@nats-io/nats-core";

type KeyPair = ReturnType<typeof nkeys.createUser>;

export type OperatorKeys = { readonly operator: KeyPair; readonly account: KeyPair; readonly user: KeyPair };

/** A JWT of the version 2 of NATS. Source: github.com/nats-io/jwt, v2. */
function claims(issuer: KeyPair, subject: KeyPair, name: string, nats: object): string {
  const times = { jti: randomUUID(), iat: Math.floor(Date.now() / 1_000) };
  const body = {
    ...times,
    iss: issuer.getPublicKey(),
    name,
    sub: subject.getPublicKey(),
    nats: { version: 2, ...nats },
  };
  const parts = [{ typ: "JWT", alg: "ed25519-nkey" }, body];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString("base64url")}`;
}

const unbounded = { subs: -1, data: -1, payload: -1 };

function accountClaims({ operator, account }: OperatorKeys): string {
  const limits = { ...unbounded, conn: -1, leaf: -1, imports: -1, exports: -1, wildcards: true };
  return claims(operator, account, "masters", { type: "account", limits });
}

/** The configuration of a server that knows the account. */
export function operatorAccounts(keys: OperatorKeys): object {
  return {
    operator: claims(keys.operator, keys.operator, "operator", { type: "operator" }),
    resolver: "MEMORY",
    resolver_preload: { [keys.account.getPublicKey()]: accountClaims(keys) },
  };
}

/** The text of a `.creds` file. */
export function credentialsText({ account, user }: OperatorKeys): string {
  const jwt = claims(account, user, "member", { type: "user", ...unbounded, pub: {}, sub: {} });
  const seed = Buffer.from(user.getSeed()).toString();
  return `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`;
}
