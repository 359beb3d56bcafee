;; Parses JSON numbers into float32 with exactly the result of `Math.fround(JSON.parse(text))`.
;;
;; Up to 19 digits are read as an integer, which is scaled by a power of ten. An integer up to 2^53
;; and a power up to 10^22 are exact doubles, so their quotient or product is the nearest double
;; (Clinger, "How to read floating point numbers accurately", 1990). Beyond that, the relative error
;; is below 2^-51. If the numbers 2^-50 away on both sides round to the same float32, that is the
;; result, because rounding is monotone.
(module
  (memory (export "memory") 7)

  ;; Reads `count` numbers, separated by commas and followed by `]`, from the bytes at `at` to `out`.
  ;; Requires a zero byte after the text, and 10^0 to 10^22 as float64 at the start of the memory.
  ;; Returns the offset after the bracket. Returns 0 for anything else, for a number beyond float32,
  ;; and for one whose rounding is uncertain.
  (func (export "scan") (param $at i32) (param $out i32) (param $count i32) (result i32)
    (local $byte i32) (local $negative i32) (local $smaller i32) (local $exponent i32) (local $power i32) (local $rest i32)
    (local $digits i64) (local $value f64) (local $single f32)
    (loop $number
      (local.set $at (call $skipBlanks (local.get $at)))
      (local.set $negative (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x2d)))
      (local.set $at (i32.add (local.get $at) (local.get $negative)))
      (local.set $digits (i64.const 0))
      (local.set $exponent (i32.const 0))
      (local.set $byte (call $digit (local.get $at)))
      (if (i32.gt_u (local.get $byte) (i32.const 9)) (then (return (i32.const 0))))
      (if (i32.eqz (local.get $byte))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (local.set $byte (call $digit (local.get $at)))
          (if (i32.le_u (local.get $byte) (i32.const 9)) (then (return (i32.const 0)))))
        (else
          (loop $whole
            (if (i64.lt_u (local.get $digits) (i64.const 1000000000000000000))
              (then
                (local.set $digits
                  (i64.add (i64.mul (local.get $digits) (i64.const 10)) (i64.extend_i32_u (local.get $byte)))))
              (else (local.set $exponent (i32.add (local.get $exponent) (i32.const 1)))))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (local.set $byte (call $digit (local.get $at)))
            (br_if $whole (i32.le_u (local.get $byte) (i32.const 9))))))
      ;; A point.
      (if (i32.eq (local.get $byte) (i32.const -2))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (local.set $byte (call $digit (local.get $at)))
          (if (i32.gt_u (local.get $byte) (i32.const 9)) (then (return (i32.const 0))))
          (loop $fraction
            (if (i64.lt_u (local.get $digits) (i64.const 1000000000000000000))
              (then
                (local.set $digits
                  (i64.add (i64.mul (local.get $digits) (i64.const 10)) (i64.extend_i32_u (local.get $byte))))
                (local.set $exponent (i32.sub (local.get $exponent) (i32.const 1)))))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (local.set $byte (call $digit (local.get $at)))
            (br_if $fraction (i32.le_u (local.get $byte) (i32.const 9))))))
      ;; `e` or `E`.
      (if (i32.eq (i32.or (i32.load8_u (local.get $at)) (i32.const 0x20)) (i32.const 0x65))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (local.set $byte (i32.load8_u (local.get $at)))
          (local.set $smaller (i32.eq (local.get $byte) (i32.const 0x2d)))
          (if (i32.or (local.get $smaller) (i32.eq (local.get $byte) (i32.const 0x2b)))
            (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
          (local.set $byte (call $digit (local.get $at)))
          (if (i32.gt_u (local.get $byte) (i32.const 9)) (then (return (i32.const 0))))
          (local.set $power (i32.const 0))
          (loop $powerDigits
            (if (i32.lt_u (local.get $power) (i32.const 1000000))
              (then
                (local.set $power (i32.add (i32.mul (local.get $power) (i32.const 10)) (local.get $byte)))))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (local.set $byte (call $digit (local.get $at)))
            (br_if $powerDigits (i32.le_u (local.get $byte) (i32.const 9))))
          (local.set $exponent
            (i32.add (local.get $exponent)
              (select (i32.sub (i32.const 0) (local.get $power)) (local.get $power) (local.get $smaller))))))
      (local.set $single (f32.const 0))
      (if (i64.ne (local.get $digits) (i64.const 0))
        (then
          (local.set $value (f64.convert_i64_u (local.get $digits)))
          (local.set $smaller (i32.lt_s (local.get $exponent) (i32.const 0)))
          (local.set $power
            (select (i32.sub (i32.const 0) (local.get $exponent)) (local.get $exponent) (local.get $smaller)))
          (if (i32.gt_u (local.get $power) (i32.const 44)) (then (return (i32.const 0))))
          (local.set $rest (i32.const 0))
          (if (i32.gt_u (local.get $power) (i32.const 22))
            (then
              (local.set $rest (i32.sub (local.get $power) (i32.const 22)))
              (local.set $power (i32.const 22))))
          (if (local.get $smaller)
            (then
              (local.set $value
                (f64.div
                  (f64.div (local.get $value) (call $powerOfTen (local.get $power)))
                  (call $powerOfTen (local.get $rest)))))
            (else
              (local.set $value
                (f64.mul
                  (f64.mul (local.get $value) (call $powerOfTen (local.get $power)))
                  (call $powerOfTen (local.get $rest))))))
          (local.set $single (f32.demote_f64 (local.get $value)))
          (if (i32.or (local.get $rest) (i64.gt_u (local.get $digits) (i64.const 9007199254740992)))
            (then
              (if
                (f32.ne
                  (f32.demote_f64 (f64.mul (local.get $value) (f64.const 0x1.ffffffffffff8p-1)))
                  (f32.demote_f64 (f64.mul (local.get $value) (f64.const 0x1.0000000000004p+0))))
                (then (return (i32.const 0))))))
          (if (f32.eq (local.get $single) (f32.const inf)) (then (return (i32.const 0))))))
      (f32.store (local.get $out)
        (select (f32.neg (local.get $single)) (local.get $single) (local.get $negative)))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (local.set $at (call $skipBlanks (local.get $at)))
      (local.set $byte (i32.load8_u (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (if (i32.eqz (local.get $count))
        (then (return (select (local.get $at) (i32.const 0) (i32.eq (local.get $byte) (i32.const 0x5d))))))
      (br_if $number (i32.eq (local.get $byte) (i32.const 0x2c))))
    (i32.const 0))

  ;; Returns the digit at `at`; -2 for a point, and more than 9 (unsigned) for any other byte.
  (func $digit (param $at i32) (result i32)
    (i32.sub (i32.load8_u (local.get $at)) (i32.const 0x30)))

  (func $powerOfTen (param $exponent i32) (result f64)
    (f64.load (i32.shl (local.get $exponent) (i32.const 3))))

  ;; Returns the offset after the whitespace that JSON allows between tokens.
  (func $skipBlanks (param $at i32) (result i32)
    (local $byte i32)
    (loop $blank
      (local.set $byte (i32.load8_u (local.get $at)))
      (if
        (i32.or
          (i32.or (i32.eq (local.get $byte) (i32.const 0x20)) (i32.eq (local.get $byte) (i32.const 0x0a)))
          (i32.or (i32.eq (local.get $byte) (i32.const 0x0d)) (i32.eq (local.get $byte) (i32.const 0x09))))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $blank))))
    (local.get $at)))
