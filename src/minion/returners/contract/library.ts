/** Finds and loads client libraries, which are optional: only minions that use a returner install its library. */
import { installCommand } from "../../../config/host/program.ts";
import type { Library } from "./returner.ts";

export function isInstalled({ specifier }: Library): boolean {
  try {
    import.meta.resolve(specifier);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error) return false;
    throw error;
  }
}

/** The sentence that refuses a returner without its library, with the command that installs it. */
export function missingText(name: string, { install }: Library): string {
  const packageName = install.slice(0, install.lastIndexOf("@"));
  return `the returner ${name} needs the package ${packageName}, which is not installed: ${installCommand(install)}`;
}

/** The caller states the type, because the library may not be there when this program is built. */
export async function loadLibrary<Module>({ specifier }: Library): Promise<Module> {
  return (await import(specifier)) as Module;
}
