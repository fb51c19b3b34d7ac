-- Functions that are called a known number of times, on several Haskell threads, with garbage collections and exceptions.
module Main where

import Control.Concurrent
import Control.Exception
import Control.Monad
import Data.IORef
import qualified Data.Map.Strict as Map

-- Each is entered once for each call: they are not inlined, and have no loop that leads to their entries.
work :: Int -> Int
work n = Map.foldl' (+) 0 (Map.fromListWith (+) [(i * 7919 `mod` 1009, i) | i <- [1 .. n]])
{-# NOINLINE work #-}

risky :: Int -> IO Int
risky n = if odd n then throwIO (userError "odd") else return n
{-# NOINLINE risky #-}

main :: IO ()
main = do
  print (sum (map work [1 .. 100]))
  total <- newIORef 0
  forM_ [1 .. 1000] $ \i ->
    (risky i >>= \x -> modifyIORef' total (+ x)) `catch` \e -> let _ = e :: IOException in modifyIORef' total (subtract 1)
  readIORef total >>= print
  done <- newEmptyMVar
  forM_ [1 .. 4] $ \k -> forkIO (evaluate (work (k * 2000)) >>= putMVar done)
  replicateM 4 (takeMVar done) >>= print . sum
  print (foldr (+) 0 [1 .. 100000 :: Integer])
