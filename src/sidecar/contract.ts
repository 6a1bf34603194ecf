/** What the sidecar answers: the requests that its Python programs take, and where a site's Python lies. */
import type { Value } from "../wire/values.ts";

/** `python`: the interpreter that has Salt. `configFile`: the master's. */
export type SidecarSettings = {
  readonly python: string;
  readonly configFile: string;
  /** Python becomes the master's user if root starts it. */
  readonly user: string;
  readonly processesMax: number;
  readonly memoryMib: number;
  /** Variables for Python and the commands that it runs. */
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/** A request: its kind, and the members that `program/saltworks_plugins.py` reads. */
export type SidecarRequest = { readonly kind: string; readonly [member: string]: unknown };

/** `printed`: what the function printed. */
export type SidecarAnswer = { readonly value: Value; readonly printed: string };

/** An event that a function fires while it runs. */
export type SidecarEvent = { readonly tag: string; readonly data: Value };
export type OnSidecarEvent = (event: SidecarEvent) => void;

/** Whether a request is for a function that may take long. Such functions have processes of their own. */
export function isCall({ kind }: SidecarRequest): boolean {
  return kind === "call" || kind === "documentation";
}
