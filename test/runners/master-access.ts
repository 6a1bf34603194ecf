/** A running master as runners see it; what a test does not name must not be asked. */
import type { MasterAccess } from "../../src/runners/contract/contract.ts";

export function masterAccess(answers: Partial<MasterAccess>): MasterAccess {
  const refuse = (name: string) => () => Promise.reject(new Error(`the master was asked for ${name}`));
  return new Proxy({} as MasterAccess, {
    get: (_, name) => answers[name as keyof MasterAccess] ?? refuse(String(name)),
  });
}
