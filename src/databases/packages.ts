/** Client libraries are optional packages, which are looked for before they are used. */
import { createRequire } from "node:module";
import { installCommand } from "../config/host/program.ts";
import { SaltworksError } from "../errors.ts";

/** @param what - what needs the package, for the message. @throws SaltworksError PACKAGE_MISSING */
export function requirePackage(what: string, packageName: string): void {
  try {
    createRequire(import.meta.url).resolve(packageName);
  } catch (error) {
    throw new SaltworksError(
      "PACKAGE_MISSING",
      `${what} needs the package ${packageName}, which is not installed: ${installCommand(packageName)}`,
      { package: packageName },
      { cause: error },
    );
  }
}
