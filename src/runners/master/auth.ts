/** Runner `auth`: an operator makes and revokes tokens for users of `external_auth`. Only the caller sees arguments and results. */
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { fieldsOf } from "../jobs/stored-body.ts";

async function makeToken({ master }: RunnerContext, args: ValueMap): Promise<Encodable> {
  const seconds = args.get("token_expire");
  const made = await master?.makeToken({
    eauth: textArgument(args, "eauth"),
    username: textArgument(args, "username"),
    password: textArgument(args, "password"),
    expireSeconds: typeof seconds === "number" ? seconds : undefined,
  });
  return made === undefined ? "" : fieldsOf(made);
}

export const authRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "auth.mk_token",
    {
      parameters: parametersOf("username!", "password!", "eauth!", "token_expire"),
      doc: "Makes a token for a user of an eauth system; `token_expire` is its lifetime in seconds, if `token_expire_user_override` allows it.",
      run: makeToken,
    },
  ],
  [
    "auth.del_token",
    {
      parameters: parametersOf("token!"),
      doc: "Revokes a token: true if it existed.",
      run: async ({ master }, args) => await master?.removeToken({ token: textArgument(args, "token") }),
    },
  ],
]);
