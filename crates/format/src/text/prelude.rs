//! The explanation at the top of a text profile.

/// Explains the sections of the file to a person who opens it.
///
/// Tools find their sections by the beginnings of lines, so no line in here may begin like one,
/// nor with a tab or with eight dashes; and the beginnings of the CPU tables may not occur at all.
pub const PRELUDE: &str = "\
Profile of a Java program, written by hprof-rs in the text format of HPROF
(-agentlib:hprof, format=a). Each section below appears only if the options ask
for it, and may appear more than once: a table is written when the program ends
and whenever a dump is requested (kill -QUIT, jcmd, or a front-end), and it
covers the time since the one before.

Numbers printed in decimal after \"id\" or \"trace\" are serial numbers: threads
count from 200001 on, stack traces from 300000 on. Hexadecimal numbers name
objects. Trace 300000 has no frames; what has no known origin refers to it.

  THREAD START, THREAD END
      A thread came or went, in the order it happened. \"obj\" is its Thread
      object, \"id\" the serial number that other lines use for it.

  TRACE
      A stack trace, innermost frame first, one per line:
      class.method(source file:line). Each is written once and then referred to
      by its number. It holds at most as many frames as the option depth says.
      The frame [no_stack] stands for CPU time whose stack could not be had.
      \"thread=\" names the thread, if the option thread=y keeps threads apart.

  CPU SAMPLES
      Where running threads were found when their stacks were sampled. \"count\"
      is the number of samples at that trace, \"self\" its share of all samples,
      \"accum\" the share of this row and all above it, \"method\" the innermost
      frame. Rows below the option cutoff are left out; the remark after a table
      says how many (rows_below_cutoff) and their share of the total.

  CPU TIME (ms)
      Time spent within methods themselves, without what they called. \"count\" is
      the number of calls; the total is in milliseconds.

  SITES
      Where objects were allocated: for each class and trace the bytes and
      objects still alive, and those ever allocated.

  HEAP DUMP
      The objects in the heap. ROOT lines tell why an object is kept alive, CLS
      lines describe classes with their static references, OBJ lines objects
      with their references, ARR lines arrays. \"sz\" is a size in bytes, \"trace\"
      tells where the object was allocated, if that is known.

  SLOW CALLS
      How long the calls of chosen methods took, and the slowest of them.

  MONITOR TIME, MONITOR DUMP, WAIT, WAITED
      Time lost waiting to enter monitors that other threads held; the
      state of threads and monitors; and calls to Object.wait.

Lines that start with \"# \" are remarks of hprof-rs itself, such as counts of
what it had to skip. Control characters, quotes and backslashes in names are
written as in Java source.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_looks_like_a_section() {
        const STARTS: [&str; 18] = [
            "JAVA PROFILE",
            "THREAD START (",
            "THREAD END (",
            "CPU SAMPLES BEGIN",
            "CPU SAMPLES END",
            "CPU TIME (ms) BEGIN",
            "CPU TIME (ms) END",
            "SITES BEGIN",
            "SITES END",
            "MONITOR ",
            "HEAP DUMP BEGIN",
            "HEAP DUMP END",
            "WAIT",
            "# ",
            "\t",
            "--------",
            "rank",
            "    THREAD",
        ];
        for line in PRELUDE.lines() {
            assert!(
                !STARTS.iter().any(|start| line.starts_with(start)),
                "{line}"
            );
            let digits = line
                .strip_prefix("TRACE ")
                .unwrap_or("")
                .trim_end_matches(':');
            assert!(digits.parse::<u32>().is_err(), "{line}");
            assert!(line.len() <= 80, "{line}");
        }
        assert!(!PRELUDE.contains("CPU TIME (ms) BEGIN"));
        assert!(!PRELUDE.contains("CPU SAMPLES BEGIN (total"));
        assert!(PRELUDE.ends_with('\n') && !PRELUDE.ends_with("\n\n"));
    }
}
