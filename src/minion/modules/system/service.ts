/**
 * Execution module `service` for systemd: the state of services, and simple commands such as start.
 * Source: Salt 3007's `systemd_service`, docs/functions.md.
 */

import { strOf } from "../../../python/repr.ts";
import { commandError } from "../../functions/errors.ts";
import type { BoundArguments, ModuleFunction } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { type ProgramResult, runProgram } from "../machine/run-program.ts";

export const serviceModule: ModuleFunctions = {
  "service.status": {
    ...signature("name, sig=None"),
    doc: describe("Whether a service is active.", "service.status sshd"),
    run: async (_, args) => (await systemctl("is-active", unitOf(args))).exitCode === 0,
  },
  "service.available": {
    ...signature("name"),
    doc: describe("Whether a service exists.", "service.available sshd"),
    run: (_, args) => isAvailable(args),
  },
  "service.missing": {
    ...signature("name"),
    doc: describe("Whether a service does not exist.", "service.missing sshd"),
    run: async (_, args) => !(await isAvailable(args)),
  },
  "service.enabled": {
    ...signature("name, **kwargs"),
    doc: describe("Whether a service starts with the system.", "service.enabled sshd"),
    run: async (_, args) => (await systemctl("is-enabled", unitOf(args))).exitCode === 0,
  },
  "service.start": verb("start", "Starts a service."),
  "service.stop": verb("stop", "Stops a service."),
  "service.restart": verb("restart", "Stops a service and starts it again."),
  "service.reload": verb("reload", "Makes a service read its configuration again."),
};

function verb(name: "start" | "stop" | "restart" | "reload", about: string): ModuleFunction {
  return {
    ...signature("name"),
    doc: describe(about, `service.${name} nginx`),
    run: async (_, args) => {
      const { exitCode, stdout, stderr } = await systemctl(name, unitOf(args));
      if (exitCode !== 0) throw commandError(`${stdout}${stderr}`.trim());
      return true;
    },
  };
}

/** Adds `.service` to a name without a unit suffix. */
function unitOf(args: BoundArguments): string {
  const name = strOf(argument(args, "name"));
  return /\.(?:service|socket|device|mount|automount|swap|target|path|timer|slice|scope)$/.test(name)
    ? name
    : `${name}.service`;
}

/** @throws SaltworksError FUNCTION_FAILED without systemd */
async function systemctl(command: string, unit: string): Promise<ProgramResult> {
  const result = await runProgram("systemctl", [command, "--", unit]);
  if (!result.isFound) throw commandError("systemctl does not exist: this system does not have systemd");
  return result;
}

async function isAvailable(args: BoundArguments): Promise<boolean> {
  const unit = unitOf(args);
  const { stdout, stderr, exitCode } = await systemctl("status", unit);
  const said = `${stdout}${stderr}`.toLowerCase();
  if (exitCode === 1 && said.includes("not been booted with systemd")) {
    throw commandError(
      `Cannot run in offline mode. Failed to get information on unit '${strOf(argument(args, "name"))}'`,
    );
  }
  return !(said.includes("could not be found") || said.includes("not-found"));
}
