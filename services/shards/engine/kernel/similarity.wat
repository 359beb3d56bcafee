;; Sums of a float64 query with float32 rows, two at a time in float64. Products are exact, and the
;; order of additions is the same for every number of rows, so a record's score does not depend on
;; how it was found.
;;
;; `query` is the byte address of `dimensions` float64 values, `rows` that of `count` rows of
;; `dimensions` float32 values, and `out` that of `count` float64 results.
(module
  (memory (export "memory") 3)

  ;; Dot products.
  (func (export "dot") (param $query i32) (param $rows i32) (param $out i32) (param $count i32) (param $dimensions i32)
    (local $q i32) (local $wholeEnd i32) (local $end i32) (local $sum f64)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local.set $wholeEnd
      (i32.add (local.get $query) (i32.shl (i32.and (local.get $dimensions) (i32.const -8)) (i32.const 3))))
    (local.set $end (i32.add (local.get $query) (i32.shl (local.get $dimensions) (i32.const 3))))
    (block $done
      (loop $row
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $q (local.get $query))
        (local.set $a (v128.const i64x2 0 0))
        (local.set $b (v128.const i64x2 0 0))
        (local.set $c (v128.const i64x2 0 0))
        (local.set $d (v128.const i64x2 0 0))
        (block $wholeDone
          (loop $eight
            (br_if $wholeDone (i32.ge_u (local.get $q) (local.get $wholeEnd)))
            (local.set $a
              (f64x2.add (local.get $a)
                (f64x2.mul (v128.load (local.get $q))
                  (f64x2.promote_low_f32x4 (v128.load64_zero (local.get $rows))))))
            (local.set $b
              (f64x2.add (local.get $b)
                (f64x2.mul (v128.load offset=16 (local.get $q))
                  (f64x2.promote_low_f32x4 (v128.load64_zero offset=8 (local.get $rows))))))
            (local.set $c
              (f64x2.add (local.get $c)
                (f64x2.mul (v128.load offset=32 (local.get $q))
                  (f64x2.promote_low_f32x4 (v128.load64_zero offset=16 (local.get $rows))))))
            (local.set $d
              (f64x2.add (local.get $d)
                (f64x2.mul (v128.load offset=48 (local.get $q))
                  (f64x2.promote_low_f32x4 (v128.load64_zero offset=24 (local.get $rows))))))
            (local.set $q (i32.add (local.get $q) (i32.const 64)))
            (local.set $rows (i32.add (local.get $rows) (i32.const 32)))
            (br $eight)))
        (local.set $a
          (f64x2.add (f64x2.add (local.get $a) (local.get $b)) (f64x2.add (local.get $c) (local.get $d))))
        (local.set $sum (f64.add (f64x2.extract_lane 0 (local.get $a)) (f64x2.extract_lane 1 (local.get $a))))
        (block $restDone
          (loop $one
            (br_if $restDone (i32.ge_u (local.get $q) (local.get $end)))
            (local.set $sum
              (f64.add (local.get $sum)
                (f64.mul (f64.load (local.get $q)) (f64.promote_f32 (f32.load (local.get $rows))))))
            (local.set $q (i32.add (local.get $q) (i32.const 8)))
            (local.set $rows (i32.add (local.get $rows) (i32.const 4)))
            (br $one)))
        (f64.store (local.get $out) (local.get $sum))
        (local.set $out (i32.add (local.get $out) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $row))))

  ;; Squared Euclidean distances.
  (func (export "squaredDistance") (param $query i32) (param $rows i32) (param $out i32) (param $count i32) (param $dimensions i32)
    (local $q i32) (local $wholeEnd i32) (local $end i32) (local $sum f64)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128) (local $x v128) (local $y f64)
    (local.set $wholeEnd
      (i32.add (local.get $query) (i32.shl (i32.and (local.get $dimensions) (i32.const -8)) (i32.const 3))))
    (local.set $end (i32.add (local.get $query) (i32.shl (local.get $dimensions) (i32.const 3))))
    (block $done
      (loop $row
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $q (local.get $query))
        (local.set $a (v128.const i64x2 0 0))
        (local.set $b (v128.const i64x2 0 0))
        (local.set $c (v128.const i64x2 0 0))
        (local.set $d (v128.const i64x2 0 0))
        (block $wholeDone
          (loop $eight
            (br_if $wholeDone (i32.ge_u (local.get $q) (local.get $wholeEnd)))
            (local.set $x
              (f64x2.sub (v128.load (local.get $q))
                (f64x2.promote_low_f32x4 (v128.load64_zero (local.get $rows)))))
            (local.set $a (f64x2.add (local.get $a) (f64x2.mul (local.get $x) (local.get $x))))
            (local.set $x
              (f64x2.sub (v128.load offset=16 (local.get $q))
                (f64x2.promote_low_f32x4 (v128.load64_zero offset=8 (local.get $rows)))))
            (local.set $b (f64x2.add (local.get $b) (f64x2.mul (local.get $x) (local.get $x))))
            (local.set $x
              (f64x2.sub (v128.load offset=32 (local.get $q))
                (f64x2.promote_low_f32x4 (v128.load64_zero offset=16 (local.get $rows)))))
            (local.set $c (f64x2.add (local.get $c) (f64x2.mul (local.get $x) (local.get $x))))
            (local.set $x
              (f64x2.sub (v128.load offset=48 (local.get $q))
                (f64x2.promote_low_f32x4 (v128.load64_zero offset=24 (local.get $rows)))))
            (local.set $d (f64x2.add (local.get $d) (f64x2.mul (local.get $x) (local.get $x))))
            (local.set $q (i32.add (local.get $q) (i32.const 64)))
            (local.set $rows (i32.add (local.get $rows) (i32.const 32)))
            (br $eight)))
        (local.set $a
          (f64x2.add (f64x2.add (local.get $a) (local.get $b)) (f64x2.add (local.get $c) (local.get $d))))
        (local.set $sum (f64.add (f64x2.extract_lane 0 (local.get $a)) (f64x2.extract_lane 1 (local.get $a))))
        (block $restDone
          (loop $one
            (br_if $restDone (i32.ge_u (local.get $q) (local.get $end)))
            (local.set $y (f64.sub (f64.load (local.get $q)) (f64.promote_f32 (f32.load (local.get $rows)))))
            (local.set $sum (f64.add (local.get $sum) (f64.mul (local.get $y) (local.get $y))))
            (local.set $q (i32.add (local.get $q) (i32.const 8)))
            (local.set $rows (i32.add (local.get $rows) (i32.const 4)))
            (br $one)))
        (f64.store (local.get $out) (local.get $sum))
        (local.set $out (i32.add (local.get $out) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $row))))
)
