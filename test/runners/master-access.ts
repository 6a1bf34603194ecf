/** A running master's `MasterAccess` for runners. Requests that the test does not answer fail. */
import type { MasterAccess } from "../../src/runners/contract/contract.ts";

export function masterAccess(answers: Partial<MasterAccess>): MasterAccess {
  const refuse = (name: string) => () => Promise.reject(new Error(`the master was asked for ${name}`));
  return new Proxy({} as MasterAccess, {
    get: (_, name) => answers[name as keyof MasterAccess] ?? refuse(String(name)),
  });
}
