/** The repository's root, for compiled tests that read its data files from any output folder. */
import { packageRoot } from "../src/config/host/program.ts";

export const repositoryRoot = packageRoot();
