/** What the sidecar needs of a master's configuration. */
import type { MasterConfig } from "../config/load.ts";
import type { SidecarSettings } from "./contract.ts";

export function sidecarSettings(
  config: MasterConfig,
  python: string,
  environment: SidecarSettings["environment"],
): SidecarSettings {
  const { configFile, user, salt_python_processes: processesMax, salt_python_memory: memoryMib } = config;
  return { python, configFile, user, processesMax, memoryMib, environment };
}
