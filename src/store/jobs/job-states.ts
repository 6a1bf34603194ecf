/** States of a job as a whole, as clients name them. Pure. */

/**
 * `running`: minions are still to return, and the master has not given them up. `paused`: a batch job that starts no more minions for now.
 * `waiting`: only minions that are away are missing, and the job is kept for them. `over`: all others.
 */
export const jobStates = ["running", "paused", "waiting", "over"] as const;
export type JobState = (typeof jobStates)[number];
