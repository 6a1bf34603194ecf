/** Where the repository's data files are, for compiled tests that run from any output folder. */
import { packageRoot } from "../src/config/host/program.ts";

export const repositoryRoot = packageRoot();
